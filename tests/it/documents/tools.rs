//! Programs that read PDF files and pictures, and a fixture with documents.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use ticketing::documents::{TicketDocument, TicketDocuments};
use ticketing::event::CreateEvent;
use ticketing::order::NewCustomer;
use ticketing::ticket::{IssueTickets, NewTicket};
use ticketing::ticket_type::{CreateTicketType, TicketType};

use crate::common::*;

/// A fixture whose service has ticket documents.
pub fn with_documents(documents: TicketDocuments) -> Fixture {
    Fixture::with_gateway(|builder| builder.ticket_documents(documents))
}

/// Issues one ticket to a person with this name.
pub fn issue_to(fixture: &Fixture, ticket_type: &TicketType, name: &str) -> NewTicket {
    let holder = NewCustomer::new(name, "holder@example.com");
    let request = IssueTickets::new(ticket_type.id, holder, 1);
    fixture.service.issue_tickets(&fixture.caller, request).expect("a ticket").issued_tickets.remove(0)
}

/// The token in the link of a ticket's document.
pub fn ticket_token(url: Option<&str>) -> String {
    let url = url.expect("a link");
    let rest = url.strip_prefix("http://127.0.0.1:8080/tickets/").expect("the local URL");
    rest.strip_suffix("/ticket.pdf").expect("the document").to_owned()
}

/// The token in the link of an order's page.
pub fn order_token(url: Option<&str>) -> String {
    url.expect("a link").strip_prefix("http://127.0.0.1:8080/orders/").expect("the local URL").to_owned()
}

/// A ticket of an event and a ticket type of its own, and its document.
pub struct Printed {
    pub fixture: Fixture,
    pub ticket_type: TicketType,
    pub ticket: NewTicket,
    pub file: File,
}

/// Issues a ticket, and returns it with its document.
pub fn printed(
    documents: TicketDocuments,
    name: &str,
    event: impl FnOnce(&mut CreateEvent),
    ticket_type: impl FnOnce(&mut CreateTicketType),
) -> Printed {
    let fixture = with_documents(documents);
    let event = fixture.event_with(event);
    let ticket_type = fixture.ticket_type_with(&event, ticket_type);
    let ticket = issue_to(&fixture, &ticket_type, name);
    let document = fixture.service.get_ticket_document(&fixture.caller, ticket.id).expect("a document");
    Printed { file: File::new(document), fixture, ticket_type, ticket }
}

/// A document in a file of its own. With the variable `KEEP_DOCUMENTS`, the file stays in that folder.
pub struct File {
    pub document: TicketDocument,
    folder: TempDir,
}

impl File {
    pub fn new(document: TicketDocument) -> Self {
        let thread = std::thread::current();
        Self::named(document, &thread.name().unwrap_or("test").replace("::", "-"))
    }

    pub fn named(document: TicketDocument, name: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("ticket.pdf"), &document.bytes).expect("written");
        if let Some(keep) = std::env::var_os("KEEP_DOCUMENTS") {
            fs::write(Path::new(&keep).join(format!("{name}.pdf")), &document.bytes).expect("written");
        }
        Self { document, folder }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("ticket.pdf")
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The text of the document. `None` if `pdftotext` is not installed.
    pub fn text(&self) -> Option<String> {
        run("pdftotext", &["-layout", utf8(&self.path()), "-"])
    }

    /// The words of the document and where they stand.
    pub fn words(&self) -> Option<Vec<Word>> {
        let html = run("pdftotext", &["-bbox", utf8(&self.path()), "-"])?;
        let mut page = (0.0, 0.0);
        let mut words = Vec::new();
        for line in html.lines().map(str::trim) {
            let number = |name: &str| -> f64 {
                let (_, rest) = line.split_once(&format!("{name}=\"")).expect("a number");
                rest.split('"').next().expect("a number").parse().expect("a number")
            };
            if line.starts_with("<page ") {
                page = (number("width"), number("height"));
            } else if line.starts_with("<word ") {
                let text = line.split_once('>').expect("a word").1.trim_end_matches("</word>").to_owned();
                let (left, right, top, bottom) = (number("xMin"), number("xMax"), number("yMin"), number("yMax"));
                words.push(Word { text, left, right, top, bottom, page });
            }
        }
        Some(words)
    }

    /// Whether the document says that it is accessible (PDF/UA-1).
    pub fn is_accessible(&self) -> bool {
        let mark = b"<pdfuaid:part>1</pdfuaid:part>";
        self.document.bytes.windows(mark.len()).any(|part| part == mark)
    }

    /// The text of the document as screen readers have it. `None` if `pdfinfo` is not installed.
    pub fn structure(&self) -> Option<String> {
        self.info(&["-struct-text"])
    }

    /// What `pdfinfo` says of the document.
    pub fn info(&self, options: &[&str]) -> Option<String> {
        let path = self.path();
        run("pdfinfo", &[options, &[utf8(&path)]].concat())
    }

    /// The pages as pictures with 100 dots per inch.
    pub fn pages(&self) -> Option<Vec<PathBuf>> {
        self.pages_at("100")
    }

    /// The pages as pictures with this many dots per inch.
    pub fn pages_at(&self, dots: &str) -> Option<Vec<PathBuf>> {
        self.pictures(&["-r", dots])
    }

    /// The upper right parts of the pages, on which the codes are, as small pictures that scanners can read.
    pub fn corners(&self) -> Option<Vec<PathBuf>> {
        self.pictures(&["-r", "72", "-x", "297", "-H", "560"])
    }

    /// The first page in colors, with a pixel for each point.
    pub fn colors(&self) -> Option<Colors> {
        let (file, page) = (self.path(), self.folder.path().join("colors"));
        run("pdftoppm", &["-r", "72", "-singlefile", utf8(&file), utf8(&page)])?;
        let (width, _, pixels) = read_pixels(&page.with_extension("ppm"), b"P6", 3);
        Some(Colors { width, pixels })
    }

    fn pictures(&self, options: &[&str]) -> Option<Vec<PathBuf>> {
        let (file, pages) = (self.path(), self.folder.path().join("page"));
        run("pdftoppm", &[options, &["-gray", utf8(&file), utf8(&pages)]].concat())?;
        let entries = fs::read_dir(self.folder.path()).expect("the folder").map(|entry| entry.expect("a file").path());
        let mut pages: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "pgm")).collect();
        pages.sort();
        Some(pages)
    }
}

/// A word on a page, in points from the left upper corner.
#[derive(Debug)]
pub struct Word {
    pub text: String,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    /// The width and height of its page.
    pub page: (f64, f64),
}

pub fn millimeters(number: f64) -> f64 {
    number * 72.0 / 25.4
}

pub fn utf8(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Runs a program that must succeed, and returns what it prints. `None` if it is not installed.
pub fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let output = match Command::new(program).args(arguments).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            unavailable(format_args!("{program} is not installed"));
            return None;
        }
        Err(error) => panic!("{program}: {error}"),
    };
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {} {printed} {complaint}", output.status);
    Some(printed)
}

/// The texts of the QR codes in a picture, read by `zbarimg`.
pub fn scan(picture: &Path) -> Option<Vec<String>> {
    let printed = run("zbarimg", &["--quiet", "--raw", "-Sdisable", "-Sqrcode.enable", utf8(picture)])?;
    Some(printed.lines().map(str::to_owned).collect())
}

/// The width, height and pixels of a file as `pdftoppm` writes it: its kind, width, height and 255, each followed by one
/// white space, and so many bytes for each pixel.
fn read_pixels(path: &Path, kind: &[u8], bytes: usize) -> (usize, usize, Vec<u8>) {
    let file = fs::read(path).expect("a picture");
    let mut fields = file.splitn(4, |byte| byte.is_ascii_whitespace());
    assert_eq!(fields.next(), Some(kind));
    let mut number = || -> usize {
        let digits = std::str::from_utf8(fields.next().expect("a number")).expect("text");
        digits.parse().expect("a number")
    };
    let (width, height) = (number(), number());
    let pixels = fields.next().expect("pixels").strip_prefix(b"255\n").expect("8 bits").to_vec();
    assert_eq!(pixels.len(), width * height * bytes);
    (width, height, pixels)
}

/// A page in colors.
pub struct Colors {
    width: usize,
    pixels: Vec<u8>,
}

impl Colors {
    /// Red, green and blue at a place, in points from the left upper corner.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place on the page")]
    pub fn at(&self, x: f64, y: f64) -> [u8; 3] {
        let pixel = 3 * (y as usize * self.width + x as usize);
        self.pixels[pixel..pixel + 3].try_into().expect("three bytes")
    }
}

/// A picture in shades of gray, as `pdftoppm -gray` writes it (PGM).
pub struct Gray {
    pub width: usize,
    pub height: usize,
    pixels: Vec<u8>,
}

impl Gray {
    pub fn read(path: &Path) -> Self {
        let (width, height, pixels) = read_pixels(path, b"P5", 1);
        Self { width, height, pixels }
    }

    pub fn at(&self, x: usize, y: usize) -> u8 {
        self.pixels[y * self.width + x]
    }

    /// The texts of the QR codes in the picture, read by rqrr, with the version and the error correction level of each.
    pub fn qr_codes(&self) -> Vec<(String, usize, u16)> {
        let mut prepared = rqrr::PreparedImage::prepare_from_greyscale(self.width, self.height, |x, y| self.at(x, y));
        let grids = prepared.detect_grids();
        let read = grids.iter().map(|grid| {
            let (meta, text) = grid.decode().expect("a readable code");
            (text, meta.version.0, meta.ecc_level)
        });
        read.collect()
    }
}
