//! The covers of events, for their pages.

use crate::documents::Cover;
use crate::model::values::id::OrganizationId;
use crate::service::TicketingService;

impl TicketingService {
    /// Returns the cover of an event of this organization at `url`: the one that is kept, or else the one that is fetched.
    /// `None` if it cannot be had, or if documents are not [switched on](crate::Builder::ticket_documents). This waits as
    /// long as a document waits for its [logos](crate::documents::TicketDocuments::logo_timeout).
    pub(crate) fn cover(&self, organization: OrganizationId, url: &str) -> Option<Cover> {
        self.inner.documents.as_ref()?.cover(organization, url)
    }

    /// Returns the cover of an event of this organization at `url` if it is kept. This neither fetches nor waits.
    pub(crate) fn kept_cover(&self, organization: OrganizationId, url: &str) -> Option<Cover> {
        self.inner.documents.as_ref()?.kept_cover(organization, url)
    }
}

#[cfg(all(test, feature = "ring"))]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};
    use std::sync::{Arc, Mutex};
    use std::thread;
    use std::time::Duration;

    use sha2::{Digest, Sha256};

    use super::*;
    use crate::documents::TicketDocuments;
    use crate::environment::{Locked, ManualClock};
    use crate::model::operation::statistics::LogoOutcome;
    use crate::model::values::timestamp::Timestamp;

    /// Longer than a fetch takes, even on a busy machine.
    const LONG: Duration = Duration::from_mins(2);
    const MEBIBYTE: usize = 1024 * 1024;

    /// A server on this machine that answers each request with the same response, until the end of the process.
    struct Host {
        address: SocketAddr,
        response: Arc<Mutex<Option<Vec<u8>>>>,
        /// The request lines.
        requests: Arc<Mutex<Vec<String>>>,
    }

    impl Host {
        fn start() -> Self {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let address = listener.local_addr().unwrap();
            let host = Self { address, response: Arc::default(), requests: Arc::default() };
            let (response, requests) = (Arc::clone(&host.response), Arc::clone(&host.requests));
            thread::spawn(move || {
                let mut silent = Vec::new();
                for mut stream in listener.incoming().flatten() {
                    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                    requests.locked().extend(lines.next());
                    lines.find(String::is_empty);
                    match &*response.locked() {
                        // The client may have closed the connection already.
                        Some(response) => drop(stream.write_all(response)),
                        None => silent.push(stream),
                    }
                }
            });
            host
        }

        /// Sets the response: a status and a body.
        fn answer(&self, status: &str, body: &[u8]) {
            let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
            *self.response.locked() = Some([head.as_bytes(), body].concat());
        }

        fn url(&self, path: &str) -> String {
            format!("http://{}{path}", self.address)
        }

        fn requests(&self) -> usize {
            self.requests.locked().len()
        }
    }

    struct Opened {
        service: TicketingService,
        clock: ManualClock,
    }

    impl Opened {
        fn with(timeout: Duration, allow_local: bool) -> Self {
            let clock = ManualClock::new("2026-06-12T17:30:00Z".parse::<Timestamp>().unwrap());
            let documents = TicketDocuments::default().logo_timeout(timeout);
            let builder = TicketingService::temporary().ticket_documents(documents).clock(clock.clone());
            Self { service: builder.allow_local_webhooks(allow_local).open().unwrap(), clock }
        }

        fn count(&self, wanted: LogoOutcome) -> u64 {
            let outcomes = self.service.statistics().documents.logos;
            outcomes.into_iter().find(|(outcome, _)| *outcome == wanted).unwrap().1
        }
    }

    fn organization(number: i64) -> OrganizationId {
        OrganizationId::from_raw(number)
    }

    fn chunk(kind: &[u8], data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        let sum = crc32fast::hash(&[kind, data].concat()).to_be_bytes();
        [&length[..], kind, data, &sum].concat()
    }

    /// A PNG file of this size, one shade of gray, with other chunks after its header.
    fn png(width: u32, height: u32, others: &[u8]) -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, width, height);
        encoder.set_color(png::ColorType::Grayscale);
        let pixels = vec![7; (width * height).try_into().unwrap()];
        encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
        [&file[..33], others, &file[33..]].concat()
    }

    #[test]
    fn a_cover_is_fetched_once_an_hour_and_kept_for_a_day_while_it_cannot_be_fetched() {
        let opened = Opened::with(LONG, true);
        let host = Host::start();
        let url = host.url("/cover.png");
        let exif = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        let lies_on_its_side = chunk(b"eXIf", exif);
        let plain = png(1200, 630, &lies_on_its_side);
        host.answer("200 OK", &png(1200, 630, &[chunk(b"tEXt", b"Comment\0a secret"), lies_on_its_side].concat()));
        let cover = || opened.service.cover(organization(1), &url);
        let kept = || opened.service.kept_cover(organization(1), &url);

        assert_eq!(kept(), None);
        assert_eq!(host.requests(), 0, "nothing is fetched to look at what is kept");
        let first = cover().unwrap();
        let digest = Sha256::digest(&plain).into();
        let expected = Cover { file: plain.into(), digest, media_type: "image/png", width: 630, height: 1200 };
        assert_eq!(first, expected);
        assert_eq!(kept(), Some(expected.clone()));

        opened.clock.advance(Duration::from_mins(59));
        assert_eq!(cover(), Some(expected.clone()));
        assert_eq!(host.requests(), 1);
        host.answer("500 Internal Server Error", b"");
        opened.clock.advance(Duration::from_mins(1));
        assert_eq!(kept(), Some(expected.clone()));
        assert_eq!((cover(), host.requests()), (Some(expected.clone()), 2));
        assert_eq!((cover(), host.requests()), (Some(expected), 2), "after a failure there is a pause");
        opened.clock.advance(Duration::from_hours(23));
        assert_eq!((kept(), host.requests()), (None, 2));
        assert_eq!((cover(), host.requests()), (None, 3));
        assert_eq!((opened.count(LogoOutcome::Fetched), opened.count(LogoOutcome::Failed)), (1, 2));
    }

    #[test]
    fn with_any_trouble_there_is_no_cover() {
        let host = Host::start();
        let largest = 2 * MEBIBYTE;
        let padded = |bytes: usize| png(3, 2, &chunk(b"teSt", &vec![7; bytes - png(3, 2, &chunk(b"teSt", b"")).len()]));
        let picture = png(3, 2, b"");
        for (what, status, body, size) in [
            ("a picture", "200 OK", picture.clone(), Some((3, 2))),
            ("the largest file", "200 OK", padded(largest), Some((3, 2))),
            ("a larger file", "200 OK", padded(largest + 1), None),
            ("the widest picture", "200 OK", png(4000, 1, b""), Some((4000, 1))),
            ("a wider picture", "200 OK", png(4001, 1, b""), None),
            ("a higher picture", "200 OK", png(1, 4001, b""), None),
            ("another status", "203 Non-Authoritative Information", picture.clone(), None),
            ("not there", "404 Not Found", picture.clone(), None),
            ("a redirect", "302 Found\r\nLocation: /other.png", Vec::new(), None),
            ("a page", "200 OK", b"<!DOCTYPE html><title>Cover</title>".to_vec(), None),
            ("a damaged picture", "200 OK", picture[..picture.len() - 20].to_vec(), None),
        ] {
            let opened = Opened::with(LONG, true);
            host.answer(status, &body);
            let url = host.url("/cover.png");
            let cover = opened.service.cover(organization(1), &url);
            assert_eq!(cover.as_ref().map(|cover| (cover.width, cover.height)), size, "{what}");
            assert_eq!(opened.service.kept_cover(organization(1), &url), cover, "{what}");
            assert!(cover.is_none_or(|cover| cover.file.len() < 200), "{what}: it has nothing but its pixels");
        }
        assert!(host.requests.locked().iter().all(|line| line == "GET /cover.png HTTP/1.1"), "a redirect was followed");

        *host.response.locked() = None;
        let opened = Opened::with(Duration::from_millis(100), true);
        assert_eq!(opened.service.cover(organization(1), &host.url("/cover.png")), None, "no answer in time");
        assert_eq!(opened.count(LogoOutcome::Failed), 1);
    }

    #[test]
    fn no_cover_is_fetched_without_https_or_from_an_address_that_is_not_public() {
        let host = Host::start();
        host.answer("200 OK", &png(3, 2, b""));
        let secure = |host: &str, port: u16| format!("https://{host}:{port}/cover.png");
        let port = host.address.port();
        let opened = Opened::with(LONG, false);
        let urls = [
            host.url("/cover.png"),
            format!("http://localhost:{port}/cover.png"),
            "http://example.com/cover.png".to_owned(),
            secure("127.0.0.1", port),
            secure("localhost", port),
            secure("10.0.0.1", 443),
            secure("[::1]", 443),
            "ticketing://cover.png".to_owned(),
            "ftp://example.com/cover.png".to_owned(),
            "data:image/png;base64,AAAA".to_owned(),
            "cover.png".to_owned(),
        ];
        for url in &urls {
            assert_eq!(opened.service.cover(organization(1), url), None, "{url}");
        }
        let failed = opened.count(LogoOutcome::Failed) + opened.count(LogoOutcome::NotTried);
        assert_eq!((host.requests(), failed), (0, urls.len() as u64));
        // The control: in development, the first two are fetched.
        let local = Opened::with(LONG, true);
        assert!(urls[..2].iter().all(|url| local.service.cover(organization(1), url).is_some()));
        assert_eq!(host.requests(), 2);
        let others = [0, 5, 7, 8].map(|at| local.service.cover(organization(1), &urls[at]));
        assert_eq!((others.iter().flatten().count(), host.requests()), (1, 2), "the first is kept");
    }

    #[test]
    fn organizations_do_not_learn_which_covers_others_have() {
        let opened = Opened::with(LONG, true);
        let host = Host::start();
        host.answer("200 OK", &png(3, 2, b""));
        let url = host.url("/cover.png");
        assert!(opened.service.cover(organization(1), &url).is_some());
        assert_eq!(opened.service.kept_cover(organization(2), &url), None);
        assert!(opened.service.cover(organization(2), &url).is_some());
        assert_eq!(host.requests(), 2);
    }

    #[test]
    fn there_are_no_covers_without_documents() {
        let service = TicketingService::temporary().allow_local_webhooks(true).open().unwrap();
        let host = Host::start();
        host.answer("200 OK", &png(3, 2, b""));
        let url = host.url("/cover.png");
        assert_eq!((service.cover(organization(1), &url), service.kept_cover(organization(1), &url)), (None, None));
        assert_eq!(host.requests(), 0);
    }
}
