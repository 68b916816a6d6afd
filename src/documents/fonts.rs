//! The fonts of documents: Noto Sans and its signs, which are part of the program, and those that the program adds.

use std::collections::HashMap;
use std::sync::Arc;

use krilla::text::{Font, Tag};
use parley::FontContext;
use parley::fontique::{
    Attributes, Blob, Collection, CollectionOptions, FontInfo, Language, QueryFamily, QueryStatus, SourceCache,
};
use parley::layout::Run;

use super::language::{is_of_region, is_regional, region_of_fonts};
use crate::error::{Error, Result};

/// Noto Sans, with the letters of the Latin, Greek and Cyrillic scripts.
const BUILT_IN: [&[u8]; 2] = [include_bytes!("fonts/NotoSans-Regular.ttf"), include_bytes!("fonts/NotoSans-Bold.ttf")];

/// Signs of Noto Sans Math, Noto Sans Symbols and Noto Sans Symbols 2, such as arrows and stars. They are looked for last:
/// the fonts that the program adds may have them in color, or in the style of their script.
const SIGNS: &[u8] = include_bytes!("fonts/NotoSansSigns-Regular.ttf");

/// A font: the id of its data, its index in them, and the bits of its variation.
type FontKey = (u64, u32, Vec<(Tag, u32)>);

/// The fonts, in the order in which a text looks for its letters.
#[derive(Clone)]
pub(super) struct Fonts {
    pub(super) context: FontContext,
    families: Vec<String>,
    /// The same fonts as the PDF library has them.
    embedded: HashMap<FontKey, Font>,
}

impl Fonts {
    /// Loads the fonts. Returns the position of the first of `further` that is not a font.
    pub(super) fn load(further: &[Arc<[u8]>]) -> std::result::Result<Self, usize> {
        let collection = Collection::new(CollectionOptions { shared: false, system_fonts: false });
        let context = FontContext { collection, source_cache: SourceCache::default() };
        let mut fonts = Self { context, families: Vec::new(), embedded: HashMap::new() };
        for built_in in BUILT_IN {
            fonts.add(Blob::new(Arc::new(built_in)));
        }
        for (position, font) in further.iter().enumerate() {
            if !fonts.add(Blob::new(Arc::new(Arc::clone(font)))) {
                return Err(position);
            }
        }
        fonts.add(Blob::new(Arc::new(SIGNS)));
        Ok(fonts)
    }

    /// Adds the fonts of a file. Returns whether there are any.
    fn add(&mut self, file: Blob<u8>) -> bool {
        let mut added = self.context.collection.register_fonts(file, None);
        // They come in no order.
        added.sort_by_key(|(_, fonts)| fonts.iter().map(FontInfo::index).min());
        for (family, _) in &added {
            let Some(name) = self.context.collection.family_name(*family) else { continue };
            if !self.families.iter().any(|known| known == name) {
                self.families.push(name.to_owned());
            }
        }
        !added.is_empty()
    }

    /// The families in the order in which a text of this language looks for its letters. Of those that differ in the
    /// language that they are for, those of this one are first.
    pub(super) fn families_for(&self, language: Option<&Language>) -> Vec<String> {
        let Some(region) = language.and_then(region_of_fonts) else { return self.families.clone() };
        let mut regional: Vec<_> = self.families.iter().filter(|family| is_regional(family)).collect();
        regional.sort_by_key(|family| !is_of_region(family, region));
        let mut regional = regional.into_iter();
        let families =
            self.families.iter().map(|family| if is_regional(family) { regional.next() } else { Some(family) });
        families.flatten().cloned().collect()
    }

    /// Whether a font has a glyph for a character.
    pub(super) fn have(&mut self, character: char) -> bool {
        let mut found = false;
        let mut query = self.context.collection.query(&mut self.context.source_cache);
        query.set_families(self.families.iter().map(|name| QueryFamily::Named(name)));
        query.set_attributes(Attributes::default());
        query.matches_with(|font| {
            let glyph = font.charmap().and_then(|charmap| charmap.map(character));
            found = glyph.is_some_and(|glyph| glyph != 0);
            if found { QueryStatus::Stop } else { QueryStatus::Continue }
        });
        found
    }

    /// The font of a run as the PDF library has it.
    pub(super) fn embedded(&mut self, run: &Run<'_, ()>) -> Result<Font> {
        let font = run.font();
        let synthesis = run.synthesis();
        let variation: Vec<(Tag, f32)> =
            synthesis.variation_settings().iter().map(|(tag, value)| (Tag::new(&tag.into_bytes()), *value)).collect();
        let bits = variation.iter().map(|(tag, value)| (*tag, value.to_bits())).collect();
        let key = (font.data.id(), font.index, bits);
        if let Some(known) = self.embedded.get(&key) {
            return Ok(known.clone());
        }
        let (data, _) = font.data.clone().into_raw_parts();
        let embedded = Font::new_variable(data.into(), font.index, &variation)
            .ok_or_else(|| Error::Internal("a font for documents cannot be embedded".to_owned()))?;
        self.embedded.insert(key, embedded.clone());
        Ok(embedded)
    }
}
