//! Writes the pages of tickets as a tagged PDF, for people and their programs (PDF/UA-1).

use krilla::configure::{Accessibility, Configuration, ConfigurationBuilder};
use krilla::destination::XyzDestination;
use krilla::error::KrillaError;
use krilla::geom::{PathBuilder, Point, Rect};
use krilla::metadata::Metadata;
use krilla::outline::{Outline, OutlineNode};
use krilla::page::PageSettings;
use krilla::paint::{Fill, Stroke};
use krilla::surface::Surface;
use krilla::tagging::{Artifact, ArtifactType, ContentTag, Identifier, SpanTag, Tag, TagGroup, TagKind, TagTree};
use krilla::text::{GlyphId, KrillaGlyph};
use krilla::{Document, SerializeSettings, color};
use parley::layout::Run;

use super::Paper;
use super::fonts::Fonts;
use super::sheets::{Element, Mark, Shape, Sheets};
use super::typesetter::{Color, Paragraph};
use crate::error::{Error, Result};

/// Writes tickets, each on pages of its own. A document that cannot be accessible in every respect, such as one with a
/// font whose license forbids to embed it, is not marked as such.
pub(super) fn write(
    tickets: &[Sheets],
    fonts: &mut Fonts,
    paper: Paper,
    title: &str,
    language: &str,
) -> Result<Vec<u8>> {
    let accessible = ConfigurationBuilder::new().with_accessibility_validator(Accessibility::UA1).finish();
    let written = match draw_all(accessible.unwrap_or_default(), tickets, fonts, paper, title, language)?.finish() {
        Err(KrillaError::Validation(_)) => {
            draw_all(Configuration::default(), tickets, fonts, paper, title, language)?.finish()
        }
        written => written,
    };
    written.map_err(|error| match error {
        // The details may contain what is printed on the ticket.
        KrillaError::Font(_, detail) => internal(&detail),
        KrillaError::Image(..) => internal("a picture"),
        _ => internal("the document"),
    })
}

fn draw_all(
    configuration: Configuration,
    tickets: &[Sheets],
    fonts: &mut Fonts,
    paper: Paper,
    title: &str,
    language: &str,
) -> Result<Document> {
    let mut document = Document::new_with(SerializeSettings { configuration, ..SerializeSettings::default() });
    let mut tree = TagTree::new().with_lang(Some(language.to_owned()));
    let mut outline = Outline::new();
    let mut first_page = 0;
    for ticket in tickets {
        outline.push_child(OutlineNode::new(ticket.name.clone(), XyzDestination::new(first_page, Point::default())));
        first_page += ticket.pages.len();
        let mut tagged: Vec<Vec<Identifier>> = ticket.elements.iter().map(|_| Vec::new()).collect();
        for marks in &ticket.pages {
            let (width, height) = paper.size();
            let settings = PageSettings::from_wh(width, height).ok_or_else(|| internal("the size of a page"))?;
            let mut page = document.start_page_with(settings);
            let mut surface = page.surface();
            for mark in marks {
                let tag = match mark.element {
                    Some(_) if matches!(mark.shape, Shape::Line { .. }) => ContentTag::Span(SpanTag::empty()),
                    Some(_) => ContentTag::Other,
                    None => ContentTag::Artifact(Artifact::with_kind(ArtifactType::Layout)),
                };
                let identifier = surface.start_tagged(tag);
                let drawn = draw(&mut surface, mark, fonts);
                surface.end_tagged();
                drawn?;
                if let Some(identifiers) = mark.element.and_then(|element| tagged.get_mut(element)) {
                    identifiers.push(identifier);
                }
            }
            surface.finish();
            page.finish();
        }
        let mut section = TagGroup::new(Tag::Section);
        for (element, identifiers) in ticket.elements.iter().zip(tagged) {
            section.push(group(element, identifiers, ticket.foreign.as_deref()));
        }
        tree.push(section);
    }
    document.set_metadata(Metadata::new().title(title.to_owned()).language(language.to_owned()));
    document.set_tag_tree(tree);
    document.set_outline(outline);
    Ok(document)
}

fn internal(what: &str) -> Error {
    Error::Internal(format!("a ticket document could not be written: {what}"))
}

/// An element of the structure. `foreign` is the language of what the organizer has written, if the document has
/// another one.
fn group(element: &Element, identifiers: Vec<Identifier>, foreign: Option<&str>) -> TagGroup {
    let foreign = foreign.map(str::to_owned);
    let tag: TagKind = match element {
        Element::Heading(level, title) => Tag::Hn(*level, Some(title.clone())).with_lang(foreign).into(),
        Element::Text => Tag::P.into(),
        Element::OrganizersText => Tag::P.with_lang(foreign).into(),
        Element::Figure(shows) => Tag::Figure(Some(shows.clone())).into(),
    };
    TagGroup::with_children(tag, identifiers.into_iter().map(Into::into).collect())
}

fn draw(surface: &mut Surface<'_>, mark: &Mark, fonts: &mut Fonts) -> Result<()> {
    let (x, y) = (mark.x, mark.y);
    match &mark.shape {
        Shape::Line { paragraph, index } => draw_line(surface, x, y, paragraph, *index, fonts)?,
        Shape::Rectangles { rectangles, color } => {
            let mut path = PathBuilder::new();
            for [left, top, width, height] in rectangles {
                if let Some(rectangle) = Rect::from_xywh(x + left, y + top, *width, *height) {
                    path.push_rect(rectangle);
                }
            }
            if let Some(path) = path.finish() {
                surface.set_stroke(None);
                surface.set_fill(Some(fill(*color)));
                surface.draw_path(&path);
            }
        }
        Shape::Frame { width, height, radius, color } => {
            if let Some(path) = rounded(x, y, *width, *height, *radius) {
                surface.set_fill(None);
                let Color(red, green, blue) = *color;
                let paint = color::rgb::Color::new(red, green, blue).into();
                surface.set_stroke(Some(Stroke { paint, width: 0.75, ..Stroke::default() }));
                surface.draw_path(&path);
                surface.set_stroke(None);
            }
        }
        Shape::Picture { picture, width, height } => picture.draw(surface, x, y, *width, *height),
    }
    Ok(())
}

fn fill(Color(red, green, blue): Color) -> Fill {
    Fill { paint: color::rgb::Color::new(red, green, blue).into(), ..Fill::default() }
}

fn rounded(x: f32, y: f32, width: f32, height: f32, radius: f32) -> Option<krilla::geom::Path> {
    // How far the control points of a curve are from the corner, so that it is nearly a quarter of a circle.
    let near = radius * 0.447_7;
    let (right, bottom) = (x + width, y + height);
    let mut path = PathBuilder::new();
    path.move_to(x + radius, y);
    path.line_to(right - radius, y);
    path.cubic_to(right - near, y, right, y + near, right, y + radius);
    path.line_to(right, bottom - radius);
    path.cubic_to(right, bottom - near, right - near, bottom, right - radius, bottom);
    path.line_to(x + radius, bottom);
    path.cubic_to(x + near, bottom, x, bottom - near, x, bottom - radius);
    path.line_to(x, y + radius);
    path.cubic_to(x, y + near, x + near, y, x + radius, y);
    path.close();
    path.finish()
}

fn draw_line(
    surface: &mut Surface<'_>,
    x: f32,
    y: f32,
    paragraph: &Paragraph,
    index: usize,
    fonts: &mut Fonts,
) -> Result<()> {
    let Some(line) = paragraph.layout.get(index) else { return Ok(()) };
    let baseline = y + line.metrics().baseline;
    let mut left = x + line.metrics().offset;
    let mut runs = Vec::new();
    for run in line.runs() {
        let advance = run.advance();
        runs.push((left, run));
        left += advance;
    }
    // In the order in which they are read, which is the other way round in Arabic and Hebrew. Screen readers and
    // programs that copy text take the order of the file.
    runs.sort_by_key(|(_, run)| run.text_range().start);
    surface.set_fill(Some(fill(paragraph.color)));
    for (left, run) in runs {
        let glyphs = glyphs_of(&run);
        let font = fonts.embedded(&run)?;
        let size = run.font_size();
        if !run.is_rtl() {
            surface.draw_glyphs(Point::from_xy(left, baseline), &glyphs, font, &paragraph.text, size, false);
            continue;
        }
        let mut right = left + run.advance();
        for cluster in glyphs.chunk_by(|one, next| one.text_range == next.text_range).rev() {
            right -= cluster.iter().map(|glyph| glyph.x_advance * size).sum::<f32>();
            surface.draw_glyphs(Point::from_xy(right, baseline), cluster, font.clone(), &paragraph.text, size, false);
        }
    }
    Ok(())
}

/// The glyphs of a run from left to right, each with the part of the text that it shows. A ligature shows the parts of
/// several clusters: of the clusters that continue it, too.
fn glyphs_of(run: &Run<'_, ()>) -> Vec<KrillaGlyph> {
    let size = run.font_size();
    let mut glyphs: Vec<KrillaGlyph> = Vec::new();
    // Where the glyphs of the last cluster begin, and where the text of a ligature ends that begins further right.
    let mut last = 0;
    let mut continued = None;
    for cluster in run.visual_clusters() {
        let mut range = cluster.text_range();
        if cluster.is_ligature_continuation() {
            if run.is_rtl() {
                continued = Some(continued.map_or(range.end, |end: usize| end.max(range.end)));
            } else {
                for glyph in &mut glyphs[last..] {
                    glyph.text_range.end = range.end;
                }
            }
            continue;
        }
        range.end = continued.take().map_or(range.end, |end| end.max(range.end));
        last = glyphs.len();
        glyphs.extend(cluster.glyphs().map(|glyph| {
            let id = GlyphId::new(glyph.id);
            KrillaGlyph::new(id, glyph.advance / size, glyph.x / size, glyph.y / size, 0.0, range.clone(), None)
        }));
    }
    glyphs
}
