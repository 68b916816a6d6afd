//! What is drawn where: the pages of a document before they are written.

use std::num::NonZeroU16;
use std::sync::Arc;

use super::Paper;
use super::pictures::picture::Picture;
use super::typesetter::{Color, Paragraph};

/// A part of a document, as a screen reader sees it.
#[derive(Debug)]
pub(super) enum Element {
    /// A heading of a level from 1, and its whole text, which the organizer has written.
    Heading(NonZeroU16, String),
    /// Words of the document.
    Text,
    /// What the organizer has written.
    OrganizersText,
    /// A picture, and what it shows.
    Figure(String),
}

/// What is drawn.
pub(super) enum Shape {
    /// A line of a paragraph. Its position is the left end of the first line's top.
    Line {
        paragraph: Arc<Paragraph>,
        index: usize,
    },
    /// Filled rectangles: left, top, width and height, from the position.
    Rectangles {
        rectangles: Vec<[f32; 4]>,
        color: Color,
    },
    /// A frame with round corners.
    Frame {
        width: f32,
        height: f32,
        radius: f32,
        color: Color,
    },
    Picture {
        picture: Picture,
        width: f32,
        height: f32,
    },
}

/// What is drawn at a place of a page. Lengths are in points, from the left and upper edge.
pub(super) struct Mark {
    pub(super) x: f32,
    pub(super) y: f32,
    pub(super) shape: Shape,
    /// The element that it is part of; `None` for decoration.
    pub(super) element: Option<usize>,
}

/// The pages of one ticket.
pub(super) struct Sheets {
    /// What the table of contents says.
    pub(super) name: String,
    /// The language tag of what the organizer has written, if it is another language than that of the document.
    pub(super) foreign: Option<String>,
    pub(super) width: f32,
    /// The lowest place for text.
    pub(super) bottom: f32,
    pub(super) top: f32,
    pub(super) pages: Vec<Vec<Mark>>,
    /// In the order in which they are read.
    pub(super) elements: Vec<Element>,
    /// Where the next block begins on the last page.
    pub(super) y: f32,
}

impl Sheets {
    /// One empty page, with margins above and below.
    pub(super) fn new(name: String, foreign: Option<String>, paper: Paper, top: f32, bottom: f32) -> Self {
        let (width, height) = paper.size();
        let (pages, elements) = (vec![Vec::new()], Vec::new());
        Self { name, foreign, width, bottom: height - bottom, top, pages, elements, y: top }
    }

    /// Begins an element, and returns its number.
    pub(super) fn begin(&mut self, element: Element) -> usize {
        self.elements.push(element);
        self.elements.len() - 1
    }

    pub(super) fn last_page(&self) -> usize {
        self.pages.len() - 1
    }

    /// Draws on the last page.
    pub(super) fn draw(&mut self, x: f32, y: f32, shape: Shape, element: Option<usize>) {
        self.draw_on(self.last_page(), x, y, shape, element);
    }

    /// Draws on a page, apart from the flow.
    pub(super) fn draw_on(&mut self, page: usize, x: f32, y: f32, shape: Shape, element: Option<usize>) {
        if let Some(page) = self.pages.get_mut(page) {
            page.push(Mark { x, y, shape, element });
        }
    }

    /// Draws a paragraph below what was drawn before, and on further pages if it does not fit. Its first two lines stay
    /// together, and so do its last two.
    pub(super) fn flow(&mut self, x: f32, paragraph: &Arc<Paragraph>, element: Option<usize>) {
        let lines = paragraph.layout.len();
        for index in 0..lines {
            let Some(line) = paragraph.layout.get(index) else { continue };
            let metrics = line.metrics();
            let is_with_next = index + 1 < lines && (index == 0 || index + 2 == lines);
            self.make_room(if is_with_next { 2.0 * metrics.line_height } else { metrics.line_height });
            let y = self.y - metrics.block_min_coord;
            self.draw(x, y, Shape::Line { paragraph: Arc::clone(paragraph), index }, element);
            self.y += metrics.line_height;
        }
    }

    /// Begins a page if this height is not left on the last one.
    pub(super) fn make_room(&mut self, height: f32) {
        if self.y + height > self.bottom {
            self.pages.push(Vec::new());
            self.y = self.top;
        }
    }

    /// Draws a paragraph at a place of a page, apart from the flow.
    pub(super) fn place(&mut self, page: usize, x: f32, y: f32, paragraph: &Arc<Paragraph>, element: Option<usize>) {
        for index in 0..paragraph.layout.len() {
            self.draw_on(page, x, y, Shape::Line { paragraph: Arc::clone(paragraph), index }, element);
        }
    }
}
