//! The design V1 of a ticket: where everything stands on its pages.

use krilla::image::Image;
use parley::Alignment;

use super::Paper;
use super::content::{Content, code_in_groups};
use super::qr::{self, DarkRun};
use super::sheets::{Element, Shape, Sheets};
use super::typesetter::{Color, Style, Typesetter};
use crate::error::Result;

const MILLIMETER: f32 = 72.0 / 25.4;

const SIDE_MARGIN: f32 = 20.0 * MILLIMETER;
const TOP_MARGIN: f32 = 20.0 * MILLIMETER;
const BOTTOM_MARGIN: f32 = 26.0 * MILLIMETER;

/// A module of the QR code: 25 of them are 40 mm.
const MODULE: f32 = 1.6 * MILLIMETER;
/// The light margin that a QR code needs on all sides: four modules.
const QUIET_ZONE: f32 = 4.0 * MODULE;
const QR_SIDE: f32 = 25.0 * MODULE;
/// The frame around the QR code, its quiet zone and the code in letters.
const FRAME_WIDTH: f32 = 60.0 * MILLIMETER;
const COLUMN_GAP: f32 = 10.0 * MILLIMETER;

/// The bar in the accent color above the title.
const BAR_WIDTH: f32 = 16.0 * MILLIMETER;

const LOGO_WIDTH: f32 = 60.0 * MILLIMETER;
const LOGO_HEIGHT: f32 = 18.0 * MILLIMETER;

const INK: Color = Color(0x1A, 0x1A, 0x1E);
const MUTED: Color = Color(0x5B, 0x5F, 0x6B);
const HAIRLINE: Color = Color(0xD4, 0xD7, 0xDE);
const ACCENT: Color = Color(0x1F, 0x4B, 0x99);

const TITLE_SIZES: [f32; 6] = [30.0, 27.0, 24.0, 22.0, 20.0, 18.0];

const fn style(size: f32, bold: bool, color: Color) -> Style {
    Style { size, bold, color, leading: 1.3, alignment: Alignment::Start }
}

const TITLE: Style = Style { leading: 1.18, ..style(30.0, true, INK) };
const PERIOD: Style = style(14.0, true, ACCENT);
const ZONE: Style = style(9.0, false, MUTED);
const LOCATION: Style = style(12.5, false, INK);
const TICKET_TYPE: Style = Style { leading: 1.2, ..style(17.0, true, INK) };
const LABEL: Style = style(9.0, false, MUTED);
const VALUE: Style = style(12.0, false, INK);
const CODE: Style = Style { alignment: Alignment::Center, ..style(10.5, true, INK) };
const TEXT: Style = Style { leading: 1.45, ..style(10.0, false, INK) };
const FOOTER: Style = style(8.5, false, MUTED);

/// Sets the pages of one ticket, with this picture as its logo.
pub(super) fn compose(
    typesetter: &mut Typesetter,
    content: &Content,
    paper: Paper,
    logo: Option<&Image>,
) -> Result<Sheets> {
    let mut sheets = Sheets::new(paper, TOP_MARGIN, BOTTOM_MARGIN);
    let dark = qr::dark_runs(&content.code)?;
    if let Some(image) = logo {
        draw_logo(&mut sheets, content, image.clone());
    }
    draw_heading(&mut sheets, typesetter, content);
    draw_rule(&mut sheets);
    let below = sheets.y;
    let frame_bottom = draw_code(&mut sheets, typesetter, content, &dark);
    sheets.y = below;
    draw_fields(&mut sheets, typesetter, content);
    if sheets.pages.len() == 1 {
        sheets.y = sheets.y.max(frame_bottom);
    }
    draw_text(&mut sheets, typesetter, content);
    draw_footers(&mut sheets, typesetter, content, paper);
    Ok(sheets)
}

fn content_width(sheets: &Sheets) -> f32 {
    sheets.width() - 2.0 * SIDE_MARGIN
}

#[expect(clippy::cast_precision_loss, reason = "a picture has at most 2,000 pixels in each direction")]
fn draw_logo(sheets: &mut Sheets, content: &Content, image: Image) {
    let (width, height) = image.size();
    let (width, height) = (width as f32, height as f32);
    let scale = (LOGO_WIDTH / width).min(LOGO_HEIGHT / height);
    let (width, height) = (width * scale, height * scale);
    let element = sheets.begin(Element::Figure(content.words.ticket.logo.to_owned()));
    let y = sheets.y;
    sheets.draw(SIDE_MARGIN, y, Shape::Picture { image, width, height }, Some(element));
    sheets.y += height + 9.0 * MILLIMETER;
}

fn draw_heading(sheets: &mut Sheets, typesetter: &mut Typesetter, content: &Content) {
    let width = content_width(sheets);
    let paragraph = typesetter.set_within(&content.title, &TITLE_SIZES, TITLE, width, 2);
    let left = if paragraph.layout.is_rtl() { width - BAR_WIDTH } else { 0.0 };
    let bar = vec![[left, 0.0, BAR_WIDTH, 1.2 * MILLIMETER]];
    let y = sheets.y;
    sheets.draw(SIDE_MARGIN, y, Shape::Rectangles { rectangles: bar, color: ACCENT }, None);
    sheets.y += 6.0 * MILLIMETER;

    let title = sheets.begin(Element::Title(content.title.clone()));
    sheets.flow(SIDE_MARGIN, &paragraph, Some(title));
    sheets.y += 3.0 * MILLIMETER;
    paragraph_of(sheets, typesetter, &content.period, PERIOD, width);
    paragraph_of(sheets, typesetter, &content.zone, ZONE, width);
    if let Some(location) = &content.location {
        sheets.y += 2.5 * MILLIMETER;
        paragraph_of(sheets, typesetter, location, LOCATION, width);
    }
    sheets.y += 7.0 * MILLIMETER;
}

/// A hairline over the width of the page, and space below it.
fn draw_rule(sheets: &mut Sheets) {
    let line = vec![[0.0, 0.0, content_width(sheets), 0.6]];
    let y = sheets.y;
    sheets.draw(SIDE_MARGIN, y, Shape::Rectangles { rectangles: line, color: HAIRLINE }, None);
    sheets.y += 8.0 * MILLIMETER;
}

/// Draws the QR code and the code in letters on the right side. Returns where their frame ends.
#[expect(clippy::cast_precision_loss, reason = "a QR code of version 2 has 25 modules in a row")]
fn draw_code(sheets: &mut Sheets, typesetter: &mut Typesetter, content: &Content, dark: &[DarkRun]) -> f32 {
    let left = sheets.width() - SIDE_MARGIN - FRAME_WIDTH;
    let top = sheets.y;
    let rectangles = dark
        .iter()
        .map(|run| [run.column as f32 * MODULE, run.row as f32 * MODULE, run.length as f32 * MODULE, MODULE])
        .collect();
    let figure = sheets.begin(Element::Figure(content.words.ticket.qr_code.to_owned()));
    let inset = (FRAME_WIDTH - QR_SIDE) / 2.0;
    let qr = Shape::Rectangles { rectangles, color: Color(0, 0, 0) };
    sheets.draw(left + inset, top + inset, qr, Some(figure));

    let code = sheets.begin(Element::Text);
    let letters = typesetter.set(&code_in_groups(&content.code), CODE, FRAME_WIDTH);
    let height = inset + QR_SIDE + QUIET_ZONE + letters.layout.height() + 4.0 * MILLIMETER;
    let page = sheets.pages.len() - 1;
    sheets.place(page, left, top + inset + QR_SIDE + QUIET_ZONE, &letters, Some(code));
    let frame = Shape::Frame { width: FRAME_WIDTH, height, radius: 3.0 * MILLIMETER, color: HAIRLINE };
    sheets.draw(left, top, frame, None);
    top + height
}

fn draw_fields(sheets: &mut Sheets, typesetter: &mut Typesetter, content: &Content) {
    let width = content_width(sheets) - FRAME_WIDTH - COLUMN_GAP;
    paragraph_of(sheets, typesetter, content.words.ticket.noun, LABEL, width);
    sheets.y += 0.5 * MILLIMETER;
    paragraph_of(sheets, typesetter, &content.ticket_type, TICKET_TYPE, width);
    for (label, lines) in &content.fields {
        sheets.y += 5.0 * MILLIMETER;
        // A label does not stand alone at the end of a page.
        sheets.make_room(LABEL.size * LABEL.leading + 2.0 * VALUE.size * VALUE.leading);
        paragraph_of(sheets, typesetter, label, LABEL, width);
        sheets.y += 0.5 * MILLIMETER;
        for line in lines {
            paragraph_of(sheets, typesetter, line, VALUE, width);
        }
    }
}

fn draw_text(sheets: &mut Sheets, typesetter: &mut Typesetter, content: &Content) {
    if content.text.iter().all(String::is_empty) {
        return;
    }
    sheets.y += 8.0 * MILLIMETER;
    sheets.make_room(8.0 * MILLIMETER + 3.0 * TEXT.size * TEXT.leading);
    draw_rule(sheets);
    let width = content_width(sheets);
    for line in &content.text {
        if line.is_empty() {
            sheets.y += 0.7 * TEXT.size * TEXT.leading;
        } else {
            paragraph_of(sheets, typesetter, line, TEXT, width);
        }
    }
}

/// The order at the foot of each page, and the number of the page if there are several. The title stands at the head of
/// further pages.
fn draw_footers(sheets: &mut Sheets, typesetter: &mut Typesetter, content: &Content, paper: Paper) {
    let (_, height) = paper.size();
    let y = height - 16.0 * MILLIMETER;
    let width = content_width(sheets);
    let pages = sheets.pages.len();
    for page in 0..pages {
        // A screen reader says it once.
        let first = page == 0;
        if let Some(order) = &content.order {
            let element = first.then(|| sheets.begin(Element::Text));
            let paragraph = typesetter.set(&format!("{} {order}", content.words.ticket.order), FOOTER, width);
            sheets.place(page, SIDE_MARGIN, y, &paragraph, element);
        }
        if !first {
            let title = typesetter.set_within(&content.title, &[FOOTER.size], FOOTER, width, 1);
            sheets.place(page, SIDE_MARGIN, 10.0 * MILLIMETER, &title, None);
        }
        if pages > 1 {
            let right = Style { alignment: Alignment::Right, ..FOOTER };
            let paragraph = typesetter.set(&(content.words.ticket.page)(page + 1, pages), right, width);
            sheets.place(page, SIDE_MARGIN, y, &paragraph, None);
        }
    }
}

fn paragraph_of(sheets: &mut Sheets, typesetter: &mut Typesetter, text: &str, style: Style, width: f32) {
    let element = sheets.begin(Element::Text);
    let paragraph = typesetter.set(text, style, width);
    sheets.flow(SIDE_MARGIN, &paragraph, Some(element));
}
