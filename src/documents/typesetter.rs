//! Sets text in lines: direction, shaping, line breaks, and a font for each cluster of letters.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::mem::{Discriminant, discriminant};
use std::ops::Range;
use std::sync::Arc;

use icu_properties::CodePointSetData;
use icu_properties::props::{Emoji, EmojiPresentation};
use parley::fontique::Language;
use parley::style::{FontFamily, FontFamilyName, FontWeight, LineHeight, OverflowWrap, StyleProperty};
use parley::{Alignment, AlignmentOptions, Layout, LayoutContext};

use super::fonts::Fonts;

/// Drawn instead of letters that no font has. The built-in font has it.
const REPLACEMENT: &str = "\u{FFFD}";

/// How a text is set. Lengths are in points.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    pub(super) size: f32,
    pub(super) bold: bool,
    pub(super) color: Color,
    /// The distance of two lines, as a multiple of the size.
    pub(super) leading: f32,
    pub(super) alignment: Alignment,
}

/// A color: red, green and blue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Color(pub(super) u8, pub(super) u8, pub(super) u8);

/// A text in lines.
pub(super) struct Paragraph {
    /// The text as it is drawn.
    pub(super) text: String,
    pub(super) layout: Layout<()>,
    /// The width of its lines.
    pub(super) width: f32,
    pub(super) color: Color,
}

/// Sets texts, and collects the characters that no font has.
pub(super) struct Typesetter {
    pub(super) fonts: Fonts,
    layouts: LayoutContext<()>,
    /// The language of the document.
    language: Option<Language>,
    /// The fonts of the document, in the order in which each part of a text looks for one that has its letters.
    families: Vec<FontFamilyName<'static>>,
    missing: BTreeSet<char>,
    /// The paragraphs of this document. Tickets of an order say mostly the same.
    paragraphs: HashMap<ParagraphKey, Arc<Paragraph>>,
}

/// A text, and how it is set: the bits of size, leading and width, whether it is bold, its color, its alignment, and the
/// lines in which it must fit.
type ParagraphKey = (String, [u32; 3], bool, [u8; 3], Discriminant<Alignment>, Option<usize>);

impl Typesetter {
    pub(super) fn new(fonts: Fonts) -> Self {
        Self {
            fonts,
            layouts: LayoutContext::new(),
            language: None,
            families: Vec::new(),
            missing: BTreeSet::new(),
            paragraphs: HashMap::new(),
        }
    }

    pub(super) fn begin_document(&mut self, language: Option<Language>) {
        let families = self.fonts.families_for(language.as_ref()).into_iter();
        self.families = families.map(|name| FontFamilyName::Named(Cow::Owned(name))).collect();
        self.language = language;
    }

    /// Ends a document. Returns the characters that no font has, in the order of their numbers.
    pub(super) fn end_document(&mut self) -> Vec<char> {
        self.paragraphs.clear();
        std::mem::take(&mut self.missing).into_iter().collect()
    }

    /// Sets a text in lines of this width. Clusters that no font has become replacement characters.
    pub(super) fn set(&mut self, text: &str, style: Style, width: f32) -> Arc<Paragraph> {
        self.once(text, style, width, None, |typesetter| typesetter.lay_out(text, style, width))
    }

    /// Returns the paragraph of this text in this document, which is set the first time.
    fn once(
        &mut self,
        text: &str,
        style: Style,
        width: f32,
        lines: Option<usize>,
        set: impl FnOnce(&mut Self) -> Paragraph,
    ) -> Arc<Paragraph> {
        let Color(red, green, blue) = style.color;
        let lengths = [style.size, style.leading, width].map(f32::to_bits);
        let key = (text.to_owned(), lengths, style.bold, [red, green, blue], discriminant(&style.alignment), lines);
        if let Some(known) = self.paragraphs.get(&key) {
            return Arc::clone(known);
        }
        let paragraph = Arc::new(set(self));
        self.paragraphs.insert(key, Arc::clone(&paragraph));
        paragraph
    }

    fn lay_out(&mut self, text: &str, style: Style, width: f32) -> Paragraph {
        let mut text = Cow::Borrowed(text);
        let mut layout = self.shape(&text, style, width);
        // A mark that no font has may follow what was replaced, and is then part of its cluster.
        while let Some(replaced) = self.replace_missing(&text, &layout) {
            layout = self.shape(&replaced, style, width);
            text = Cow::Owned(replaced);
        }
        layout.align(style.alignment, AlignmentOptions::default());
        Paragraph { text: text.into_owned(), layout, width, color: style.color }
    }

    /// Returns a text with replacement characters for the clusters that no font has, and without emoji that no font
    /// has, unless nothing else would be seen. `None` if the fonts have all.
    fn replace_missing(&mut self, text: &str, layout: &Layout<()>) -> Option<String> {
        let mut missing = clusters(text, layout);
        missing.retain(|cluster| cluster.is_missing && &text[cluster.range.clone()] != REPLACEMENT);
        if missing.is_empty() {
            return None;
        }
        for cluster in &missing {
            self.report(&text[cluster.range.clone()]);
        }
        let without_emoji = replaced(text, &missing);
        if !without_emoji.is_empty() {
            return Some(without_emoji);
        }
        for cluster in &mut missing {
            cluster.is_emoji = false;
        }
        Some(replaced(text, &missing))
    }

    /// Sets a text in the first of these sizes in which it fits into the number of lines beside the size. If it fits in
    /// none, the last size is taken, and the text is cut after a whole word and ends in an ellipsis.
    pub(super) fn set_within(
        &mut self,
        text: &str,
        sizes: &[(f32, usize)],
        style: Style,
        width: f32,
    ) -> Arc<Paragraph> {
        let lines = sizes.last().map(|(_, lines)| *lines);
        self.once(text, style, width, lines, |typesetter| typesetter.fit(text, sizes, style, width))
    }

    fn fit(&mut self, text: &str, sizes: &[(f32, usize)], mut style: Style, width: f32) -> Paragraph {
        let mut lines = 1;
        for (size, most_lines) in sizes {
            (style.size, lines) = (*size, *most_lines);
            let paragraph = self.lay_out(text, style, width);
            if paragraph.layout.len() <= lines {
                return paragraph;
            }
        }
        let whole = self.lay_out(text, style, width);
        let ends: Vec<usize> =
            clusters(&whole.text, &whole.layout).into_iter().map(|cluster| cluster.range.start).collect();
        // The longest part that fits: `fits` is known to, `fails` is known not to.
        let (mut fits, mut fails) = (0, ends.len());
        while fails - fits > 1 {
            let middle = fits + (fails - fits) / 2;
            if self.lay_out(&cut(&whole.text, ends[middle]), style, width).layout.len() <= lines {
                fits = middle;
            } else {
                fails = middle;
            }
        }
        self.lay_out(&cut(&whole.text, ends.get(fits).copied().unwrap_or_default()), style, width)
    }

    fn shape(&mut self, text: &str, style: Style, width: f32) -> Layout<()> {
        let mut builder = self.layouts.ranged_builder(&mut self.fonts.context, text, 1.0, false);
        builder.push_default(StyleProperty::FontFamily(FontFamily::List(Cow::Borrowed(&self.families))));
        builder.push_default(StyleProperty::Locale(self.language));
        builder.push_default(StyleProperty::FontSize(style.size));
        builder.push_default(StyleProperty::LineHeight(LineHeight::FontSizeRelative(style.leading)));
        builder.push_default(StyleProperty::OverflowWrap(OverflowWrap::Anywhere));
        if style.bold {
            builder.push_default(StyleProperty::FontWeight(FontWeight::BOLD));
        }
        let mut layout = builder.build(text);
        layout.break_all_lines(Some(width));
        layout
    }

    /// Notes the characters of a cluster that no font has. If each has a font, but no font has all, it is the cluster
    /// that is missing.
    fn report(&mut self, cluster: &str) {
        let unknown: Vec<char> = cluster.chars().filter(|character| !self.fonts.have(*character)).collect();
        if unknown.is_empty() {
            self.missing.extend(cluster.chars());
        } else {
            self.missing.extend(unknown);
        }
    }
}

/// The beginning of a text with an ellipsis, up to this position or the last word that ends before it. A word is cut if
/// it is longer than everything before it, as in scripts without spaces.
fn cut(text: &str, end: usize) -> String {
    let (start, rest) = text.split_at(end);
    let word_ends = if rest.starts_with(char::is_whitespace) { Some(end) } else { start.rfind(char::is_whitespace) };
    let word_ends = word_ends.filter(|word_ends| word_ends * 2 >= end).unwrap_or(end);
    let whole =
        start[..word_ends].trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':' | '–' | '-'));
    format!("{whole}…")
}

/// A text with replacement characters for clusters. Emoji are left out, with one space.
fn replaced(text: &str, missing: &[Cluster]) -> String {
    let mut replaced = String::new();
    let mut copied = 0;
    let mut is_after_emoji = false;
    for cluster in missing {
        push(&mut replaced, &text[copied..cluster.range.start], is_after_emoji);
        if !cluster.is_emoji {
            replaced.push_str(REPLACEMENT);
        }
        is_after_emoji = cluster.is_emoji;
        copied = cluster.range.end;
    }
    push(&mut replaced, &text[copied..], is_after_emoji);
    replaced.truncate(replaced.trim_end().len());
    replaced
}

/// Adds a part of a text. After an emoji that was left out, there are no two spaces.
fn push(replaced: &mut String, part: &str, is_after_emoji: bool) {
    let has_space = replaced.is_empty() || replaced.ends_with(char::is_whitespace);
    let part = if is_after_emoji && has_space { part.trim_start() } else { part };
    replaced.push_str(part);
}

/// A part of a text that is drawn as one: a letter with its marks, or an emoji.
struct Cluster {
    range: Range<usize>,
    /// Whether no font has it.
    is_missing: bool,
    is_emoji: bool,
}

/// The clusters of a text, in its order.
fn clusters(text: &str, layout: &Layout<()>) -> Vec<Cluster> {
    let mut found = Vec::new();
    for line in layout.lines() {
        for run in line.runs() {
            found.extend(run.clusters().map(|cluster| Cluster {
                range: cluster.text_range(),
                is_missing: cluster.glyphs().any(|glyph| glyph.id == 0),
                is_emoji: is_emoji(&text[cluster.text_range()]),
            }));
        }
    }
    found.sort_by_key(|cluster| cluster.range.start);
    found
}

/// Whether Unicode presents a cluster as an emoji: by default, as a sequence of such characters, or by a selector or a
/// keycap after a sign. Other signs, such as ★, are text.
fn is_emoji(cluster: &str) -> bool {
    let is_presented = |character| CodePointSetData::new::<EmojiPresentation>().contains(character);
    let can_be_presented = |character| CodePointSetData::new::<Emoji>().contains(character);
    cluster.contains(is_presented) && !cluster.contains('\u{FE0E}')
        || cluster.starts_with(can_be_presented) && cluster.contains(['\u{FE0F}', '\u{20E3}'])
}

#[cfg(test)]
mod tests {
    use super::{Color, Style, Typesetter, cut};
    use crate::documents::fonts::Fonts;
    use crate::model::values::amount::Amount;
    use crate::model::values::timestamp::Timestamp;
    use crate::rules::calendar::Zone;
    use crate::words;

    #[test]
    fn the_built_in_fonts_have_every_time_zone_and_every_word() {
        let mut typesetter = Typesetter::new(Fonts::load(&[]).expect("the fonts"));
        typesetter.begin_document(None);
        let mut draw = |text: &str| {
            for bold in [false, true] {
                let alignment = parley::Alignment::Start;
                let style = Style { size: 10.0, bold, color: Color(0, 0, 0), leading: 1.3, alignment };
                typesetter.set(text, style, 500.0);
            }
        };
        let at = |text: &str| text.parse::<Timestamp>().expect(text);
        for name in tzdb_data::TZ_NAMES {
            let zone = Zone::of(name).expect(name);
            for day in ["2027-01-12T12:00:00Z", "2027-07-12T12:00:00Z"] {
                draw(&words::zone_of(zone, name, at(day), None));
            }
        }
        let utc = Zone::of("UTC").expect("UTC");
        for tag in ["en", "en-US", "de", "fr", "es", "it", "nl"] {
            let words = words::of([tag]);
            draw(&format!("{words:?}"));
            for month in 1..=12 {
                let (start, end) = (format!("2027-{month:02}-01T08:00:00Z"), format!("2027-{month:02}-02T21:30:00Z"));
                draw(&words::period(words, utc, at(&start), Some(at(&end))));
            }
            for (currency, _) in words::SIGNS_OF_CURRENCIES {
                draw(&words::money(words, Amount::new(123_456_789, 2).expect("an amount"), currency));
            }
            draw(&(words.ticket.position)(3, 30));
            draw(&(words.ticket.page)(1, 2));
        }
        assert_eq!(typesetter.end_document(), Vec::<char>::new());
    }

    #[test]
    fn a_text_is_cut_after_a_whole_word_unless_it_has_none() {
        for (text, end, expected) in [
            ("Summer Night Concert", 16, "Summer Night…"),
            ("Summer Night Concert", 12, "Summer Night…"),
            ("Summer Night Concert", 13, "Summer Night…"),
            ("Summer, Winter", 9, "Summer…"),
            ("Donaudampfschifffahrt", 10, "Donaudampf…"),
            ("A Donaudampfschifffahrt", 10, "A Donaudam…"),
            ("夏の夜の音楽会", 9, "夏の夜…"),
            ("", 0, "…"),
        ] {
            assert_eq!(cut(text, end), expected);
        }
    }
}
