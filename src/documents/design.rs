//! The design V1 of a ticket: where everything stands on its pages.

use std::num::NonZeroU16;
use std::sync::Arc;

use parley::Alignment;

use super::Paper;
use super::content::{Content, Field, code_in_groups};
use super::pictures::picture::Picture;
use super::qr;
use super::sheets::{Element, Shape, Sheets};
use super::typesetter::{Color, Paragraph, Style, Typesetter};
use crate::error::Result;
use crate::words;

/// The level of the heading of a ticket, below its event.
const SECOND: NonZeroU16 = NonZeroU16::MIN.saturating_add(1);

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

/// The sizes of a title, and the lines that it may take in each.
const TITLE_SIZES: [(f32, usize); 6] = [(30.0, 2), (27.0, 2), (24.0, 2), (22.0, 2), (20.0, 4), (18.0, 4)];

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
/// Each line of it begins at the side at which its language does.
const TEXT: Style = Style { leading: 1.45, ..style(10.0, false, INK) };
const FOOTER: Style = style(8.5, false, MUTED);
const FOOTER_SIZES: [(f32, usize); 1] = [(FOOTER.size, 1)];

/// Sets the pages of one ticket, with this picture as its logo.
pub(super) fn compose(
    typesetter: &mut Typesetter,
    content: &Content,
    paper: Paper,
    logo: Option<&Picture>,
) -> Result<Sheets> {
    let name = content.position.as_ref().unwrap_or(&content.title).clone();
    let foreign = words::foreign(content.words, content.language.as_deref()).map(str::to_owned);
    let mut sheets = Sheets::new(name, foreign, paper, TOP_MARGIN, BOTTOM_MARGIN);
    let width = sheets.width - 2.0 * SIDE_MARGIN;
    let title = typesetter.set_within(&content.title, &TITLE_SIZES, TITLE, width);
    let is_rtl = title.layout.is_rtl();
    let mut ticket = Ticket { sheets: &mut sheets, typesetter, content, width, is_rtl };
    if let Some(picture) = logo {
        ticket.draw_logo(picture.clone());
    }
    ticket.draw_heading();
    ticket.draw_rule();
    // The code is read after the fields, and drawn beside them.
    let (page, top) = (ticket.sheets.last_page(), ticket.sheets.y);
    ticket.draw_fields();
    let frame_bottom = ticket.draw_code(page, top)?;
    if ticket.sheets.last_page() == page {
        ticket.sheets.y = ticket.sheets.y.max(frame_bottom);
    }
    ticket.draw_text();
    ticket.draw_footers(paper);
    Ok(sheets)
}

/// A ticket while its pages are set. If its title is read from right to left, everything but its text is aligned to the
/// right, and the code is on the left. Otherwise the sides are swapped. The direction of a name does not matter.
struct Ticket<'a> {
    sheets: &'a mut Sheets,
    typesetter: &'a mut Typesetter,
    content: &'a Content,
    /// The width between the margins.
    width: f32,
    is_rtl: bool,
}

impl Ticket<'_> {
    /// A style whose lines begin at the side of the title.
    fn beside_title(&self, style: Style) -> Style {
        Style { alignment: if self.is_rtl { Alignment::Right } else { Alignment::Left }, ..style }
    }

    /// The left edge of what has this width and stands at the side of the title.
    fn left_of(&self, width: f32) -> f32 {
        if self.is_rtl { SIDE_MARGIN + self.width - width } else { SIDE_MARGIN }
    }

    fn draw_logo(&mut self, picture: Picture) {
        let (width, height) = picture.size();
        let scale = (LOGO_WIDTH / width).min(LOGO_HEIGHT / height);
        let (width, height) = (width * scale, height * scale);
        let element = self.sheets.begin(Element::Figure(self.content.words.ticket.logo.to_owned()));
        let (x, y) = (self.left_of(width), self.sheets.y);
        self.sheets.draw(x, y, Shape::Picture { picture, width, height }, Some(element));
        self.sheets.y += height + 9.0 * MILLIMETER;
    }

    fn draw_heading(&mut self) {
        let (content, width) = (self.content, self.width);
        let bar = vec![[0.0, 0.0, BAR_WIDTH, 1.2 * MILLIMETER]];
        let (x, y) = (self.left_of(BAR_WIDTH), self.sheets.y);
        self.sheets.draw(x, y, Shape::Rectangles { rectangles: bar, color: ACCENT }, None);
        self.sheets.y += 6.0 * MILLIMETER;

        let style = self.beside_title(TITLE);
        let title = self.typesetter.set_within(&content.title, &TITLE_SIZES, style, width);
        self.flow(Element::Heading(NonZeroU16::MIN, content.title.clone()), &title);
        self.sheets.y += 3.0 * MILLIMETER;
        // In two lines, the second begins after the dash.
        let period = content.period.replace(' ', "\u{A0}").replace("–\u{A0}", "– ");
        self.paragraph(Element::Text, &period, self.beside_title(PERIOD), width);
        self.paragraph(Element::Text, &content.zone, self.beside_title(ZONE), width);
        if !content.location.is_empty() {
            self.sheets.y += 2.5 * MILLIMETER;
        }
        for line in &content.location {
            self.paragraph(Element::OrganizersText, line, self.beside_title(LOCATION), width);
        }
        self.sheets.y += 7.0 * MILLIMETER;
    }

    /// A hairline over the width of the page, and space below it.
    fn draw_rule(&mut self) {
        let line = vec![[0.0, 0.0, self.width, 0.6]];
        let y = self.sheets.y;
        self.sheets.draw(SIDE_MARGIN, y, Shape::Rectangles { rectangles: line, color: HAIRLINE }, None);
        self.sheets.y += 8.0 * MILLIMETER;
    }

    /// Draws the QR code and the code in letters on a page, opposite to the title. Returns where their frame ends.
    #[expect(clippy::cast_precision_loss, reason = "a QR code of version 2 has 25 modules in a row")]
    fn draw_code(&mut self, page: usize, top: f32) -> Result<f32> {
        let content = self.content;
        let left = if self.is_rtl { SIDE_MARGIN } else { SIDE_MARGIN + self.width - FRAME_WIDTH };
        let rectangles = qr::dark_runs(&content.code)?
            .iter()
            .map(|run| [run.column as f32 * MODULE, run.row as f32 * MODULE, run.length as f32 * MODULE, MODULE])
            .collect();
        let figure = self.sheets.begin(Element::Figure(content.words.ticket.qr_code.to_owned()));
        let inset = (FRAME_WIDTH - QR_SIDE) / 2.0;
        let qr = Shape::Rectangles { rectangles, color: Color(0, 0, 0) };
        self.sheets.draw_on(page, left + inset, top + inset, qr, Some(figure));

        let code = self.sheets.begin(Element::Text);
        let letters = self.typesetter.set(&code_in_groups(&content.code), CODE, FRAME_WIDTH);
        let height = inset + QR_SIDE + QUIET_ZONE + letters.layout.height() + 4.0 * MILLIMETER;
        self.sheets.place(page, left, top + inset + QR_SIDE + QUIET_ZONE, &letters, Some(code));
        let frame = Shape::Frame { width: FRAME_WIDTH, height, radius: 3.0 * MILLIMETER, color: HAIRLINE };
        self.sheets.draw_on(page, left, top, frame, None);
        Ok(top + height)
    }

    fn draw_fields(&mut self) {
        let content = self.content;
        let width = self.width - FRAME_WIDTH - COLUMN_GAP;
        let label_style = self.beside_title(LABEL);
        self.paragraph(Element::Text, content.words.ticket.noun, label_style, width);
        self.sheets.y += 0.5 * MILLIMETER;
        let ticket_type = self.typesetter.set(&content.ticket_type, self.beside_title(TICKET_TYPE), width);
        self.flow(Element::Heading(SECOND, content.ticket_type.clone()), &ticket_type);
        for Field { label, lines, is_organizers } in &content.fields {
            self.sheets.y += 5.0 * MILLIMETER;
            // A label does not stand alone at the end of a page.
            self.sheets.make_room(LABEL.size * LABEL.leading + 2.0 * VALUE.size * VALUE.leading);
            self.paragraph(Element::Text, label, label_style, width);
            self.sheets.y += 0.5 * MILLIMETER;
            for line in lines {
                let element = if *is_organizers { Element::OrganizersText } else { Element::Text };
                self.paragraph(element, line, self.beside_title(VALUE), width);
            }
        }
    }

    fn draw_text(&mut self) {
        let content = self.content;
        if content.text.iter().all(String::is_empty) {
            return;
        }
        self.sheets.y += 8.0 * MILLIMETER;
        self.sheets.make_room(8.0 * MILLIMETER + 3.0 * TEXT.size * TEXT.leading);
        self.draw_rule();
        for line in &content.text {
            if line.is_empty() {
                self.sheets.y += 0.7 * TEXT.size * TEXT.leading;
            } else {
                self.paragraph(Element::OrganizersText, line, TEXT, self.width);
            }
        }
    }

    /// Who sells, the order, and which of its tickets it is, at the foot of each page, and the number of the page if
    /// there are several. The title stands at the head of further pages.
    fn draw_footers(&mut self, paper: Paper) {
        let (content, width) = (self.content, self.width);
        let (_, height) = paper.size();
        let y = height - 16.0 * MILLIMETER;
        let style = self.beside_title(FOOTER);
        let opposite = if self.is_rtl { Alignment::Left } else { Alignment::Right };
        let order = content.order.iter().map(|order| format!("{} {order}", content.words.ticket.order));
        let order = order.chain(content.position.clone()).collect::<Vec<_>>().join(" · ");
        let organizer = content.organizer.as_deref().unwrap_or_default();
        let pages = self.sheets.pages.len();
        for page in 0..pages {
            // A screen reader says it once.
            let first = page == 0;
            for (text, y) in [(organizer, y - FOOTER.size * FOOTER.leading), (&order, y)] {
                if !text.is_empty() {
                    let element = first.then(|| self.sheets.begin(Element::Text));
                    let paragraph = self.typesetter.set_within(text, &FOOTER_SIZES, style, width);
                    self.sheets.place(page, SIDE_MARGIN, y, &paragraph, element);
                }
            }
            if !first {
                let title = self.typesetter.set_within(&content.title, &FOOTER_SIZES, style, width);
                self.sheets.place(page, SIDE_MARGIN, 10.0 * MILLIMETER, &title, None);
            }
            if pages > 1 {
                let style = Style { alignment: opposite, ..FOOTER };
                let paragraph = self.typesetter.set(&(content.words.ticket.page)(page + 1, pages), style, width);
                self.sheets.place(page, SIDE_MARGIN, y, &paragraph, None);
            }
        }
    }

    fn paragraph(&mut self, element: Element, text: &str, style: Style, width: f32) {
        let paragraph = self.typesetter.set(text, style, width);
        self.flow(element, &paragraph);
    }

    /// Draws a paragraph at the side of the title, below what was drawn before.
    fn flow(&mut self, element: Element, paragraph: &Arc<Paragraph>) {
        let element = self.sheets.begin(element);
        let x = self.left_of(paragraph.width);
        self.sheets.flow(x, paragraph, Some(element));
    }
}
