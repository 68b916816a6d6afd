//! Logos of ticket types: what is refused when it is sent, and what was stored before it was refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ticketing::ticket_type::{CreateTicketType, UpdateTicketType};

use crate::common::pictures::*;
use crate::common::*;

const IS_NO_LOGO: &str =
    "must be an https URL with a host and without a user, or a data: URI of an image/png or image/jpeg (RFC 2397)";
const IS_NO_PICTURE: &str =
    "must contain a whole PNG or JPEG file of at most 524288 bytes, and of at most 2000 pixels in width and height";

/// The errors of a request to create a ticket type with this logo.
fn errors(logo: &str) -> Vec<String> {
    let mut new = CreateTicketType::new("Seat", eur(1250), 10);
    new.ticket_logo = Some(logo.to_owned());
    let refused = ticketing::request::Request::from(new).into_inner().err();
    let fields = refused.map(|error| error.fields().to_vec()).unwrap_or_default();
    assert!(fields.iter().all(|error| error.path == "ticketLogo"), "{fields:?}");
    fields.into_iter().map(|error| error.message).collect()
}

fn errors_of(file: &[u8]) -> Vec<String> {
    errors(&data_uri(file))
}

#[test]
fn a_logo_is_an_https_url_or_a_data_uri_of_a_picture() {
    let pixel = data_uri(&pixel_png(79, 0));
    for logo in ["https://example.com/logo", "HTTPS://[2001:db8::1]:8443/a?b=%20#c", &pixel] {
        assert_eq!(errors(logo), [""; 0], "{logo}");
    }
    let others = "http://example.com/logo HTTP://example.com/logo https:///logo https://user@example.com/logo \
        https:logo.png myapp://logo data:image/svg+xml,x javascript:alert(1) logo.png ftp://example.com/logo.png \
        data:image/png;base64 data:text/html,image/png data:,image/png";
    for logo in others.split(' ').chain(["", "data:image/png;base64,a b", "data:image/png,\u{e9}"]) {
        assert_eq!(errors(logo), [IS_NO_LOGO], "{logo}");
    }
    let of_length = |length: usize| {
        let end = format!(";base64,{}", STANDARD.encode(pixel_png(79, 0)));
        format!("data:image/png;x={}{end}", "A".repeat(length - 17 - end.len()))
    };
    assert_eq!(errors(&of_length(700_000)), [""; 0]);
    assert_eq!(errors(&of_length(700_001)), ["must have at most 700000 characters"]);
}

#[test]
fn a_logo_in_a_request_is_a_whole_picture_within_the_limits() {
    let percent: String = pixel_png(79, 0).iter().map(|byte| format!("%{byte:02x}")).collect();
    for logo in [format!("DATA:Image/PNG,{percent}"), format!("data:image/jpeg;a=b,{percent}#c")] {
        assert_eq!(errors(&logo), [""; 0], "{logo}");
    }
    let gray = |width: u32, height: u32| {
        let row = vec![0; 1 + width as usize];
        png_of(width, height, GRAY, 0, &compressed(&row, height as usize))
    };
    let (pixel, photo) = (pixel_png(79, 0), jpeg(300, 90, 0));
    let mut wrong_checksum = pixel.clone();
    wrong_checksum[79 - 14] ^= 1;
    let with_more = |file: &[u8]| [file, b"\0\0\0\x01more"].concat();
    for (what, file, is_accepted) in [
        ("a PNG", pixel.clone(), true),
        ("a JPEG", photo.clone(), true),
        ("a PNG with more after its end", with_more(&pixel), true),
        ("a JPEG with more after its end", with_more(&photo), true),
        ("the largest file", pixel_png(LARGEST_FILE, 7), true),
        ("a larger file", pixel_png(LARGEST_FILE + 1, 7), false),
        ("the widest and highest PNG", gray(2000, 2000), true),
        ("a wider PNG", gray(2001, 1), false),
        ("a higher PNG", gray(1, 2001), false),
        ("the PNG of a report", gray(2400, 800), false),
        ("the widest and highest JPEG", jpeg(2000, 2000, 0), true),
        ("a wider JPEG", jpeg(2001, 1, 0), false),
        ("a higher JPEG", jpeg(1, 2001, 0), false),
        ("a PNG without pixels", gray(0, 1), false),
        ("a PNG with too few pixels", png_of(10, 11, GRAY, 0, &compressed(&[0; 11], 10)), false),
        ("a PNG with pixels that are not compressed", png_of(10, 10, GRAY, 0, b"not compressed"), false),
        ("a PNG of 64 petabytes", png_of(u32::MAX >> 1, u32::MAX >> 1, RGBA16, 0, b""), false),
        ("a wrong checksum", wrong_checksum, false),
        ("WebP", b"RIFF\x1a\0\0\0WEBPVP8L\r\0\0\0/\0\0\0\x10\x07\x10\x11\x11\x88\x88\xfe\x07\0".to_vec(), false),
        ("a GIF", b"GIF89a\x01\0\x01\0\0\0\0;".to_vec(), false),
        ("text", b"not a picture".to_vec(), false),
    ] {
        assert_eq!(errors_of(&file), if is_accepted { vec![] } else { vec![IS_NO_PICTURE] }, "{what}");
    }
    for file in [&pixel, &photo] {
        for length in 0..file.len() {
            assert_eq!(errors_of(&file[..length]), [IS_NO_PICTURE], "{length} of {} bytes", file.len());
        }
    }
    assert_eq!(errors("data:image/png;base64,!!!!"), [IS_NO_PICTURE]);
    assert_eq!(errors("data:image/png,"), [IS_NO_PICTURE]);
}

#[test]
fn a_picture_of_so_many_scans_that_it_takes_long_to_decode_is_refused() {
    // Each scan goes over all pixels, and has some 20 bytes.
    assert_eq!(errors_of(&progressive_jpeg(2000, 32)), [""; 0]);
    assert_eq!(errors_of(&progressive_jpeg(80, 33)), [IS_NO_PICTURE]);
}

#[test]
fn logos_that_were_stored_before_are_refused_only_when_they_are_changed() {
    let fixture = Fixture::new();
    let (service, caller) = (&fixture.service, &fixture.caller);
    let event = fixture.event();
    let half = data_uri(&jpeg(300, 90, 0)[..200]);
    for logo in ["http://example.com/logo.png", &half, "data:image/png;base64,!!!!"] {
        let ticket_type = fixture.ticket_type(&event, 1250, 10);
        store_logo(&fixture, &ticket_type, logo);
        let update = |changes: UpdateTicketType| service.update_ticket_type(caller, ticket_type.id, changes);
        assert_eq!(
            service.get_ticket_type(caller, ticket_type.id).expect("readable").ticket_logo.as_deref(),
            Some(logo)
        );
        let changed = update(UpdateTicketType::default().name("Balcony")).expect("changed");
        assert_eq!(changed.ticket_logo.as_deref(), Some(logo));
        let changed = update(UpdateTicketType::default().name("Parterre").ticket_logo(logo)).expect("changed");
        assert_eq!((changed.name.as_str(), changed.ticket_logo.as_deref()), ("Parterre", Some(logo)));
        let refused = update(UpdateTicketType::default().ticket_logo(format!("{logo}#"))).expect_err("changed");
        assert_eq!(refused.fields().iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["ticketLogo"]);
        update(UpdateTicketType::default().clear_ticket_logo()).expect("cleared");
        assert!(update(UpdateTicketType::default().ticket_logo(logo)).is_err(), "{logo}");
    }
}
