//! The language of a document's texts. Chinese, Japanese and Korean share characters, which each of them draws in its
//! own way, with a font of its own.

use parley::fontique::Language;

/// Returns the language of a tag such as `zh-TW`. If it is not one of those that share characters, or if there is no
/// tag, texts with letters that only Japanese or Korean has are in these.
pub(super) fn of<'a>(tag: Option<&str>, mut texts: impl Iterator<Item = &'a str>) -> Option<Language> {
    // Locales may have an encoding, as in `ja_JP.UTF-8`.
    let tag = tag.and_then(|tag| tag.trim().split('.').next());
    let tagged = tag.and_then(|tag| Some(Language::parse_prefix(tag).ok()?.0));
    if tagged.as_ref().is_some_and(|language| region_of_fonts(language).is_some()) {
        return tagged;
    }
    texts.find_map(|text| text.chars().find_map(language_of_letter)).or(tagged)
}

/// How the names of fonts for a language end if it shares characters with others, such as `Noto Sans CJK JP`.
pub(super) fn region_of_fonts(language: &Language) -> Option<&'static str> {
    match (language.language(), language.script(), language.region()) {
        ("ja", ..) => Some("JP"),
        ("ko", ..) => Some("KR"),
        ("zh", Some("Hans"), _) => Some("SC"),
        ("zh", _, Some("HK")) => Some("HK"),
        ("zh", Some("Hant"), _) | ("zh", _, Some("TW")) => Some("TC"),
        ("zh", ..) => Some("SC"),
        _ => None,
    }
}

/// Whether a font is for one of the languages that share characters.
pub(super) fn is_regional(family: &str) -> bool {
    ["JP", "KR", "SC", "TC", "HK"].iter().any(|region| is_of_region(family, region))
}

/// Whether a font is for the language whose fonts' names end like this.
pub(super) fn is_of_region(family: &str, region: &str) -> bool {
    family.strip_suffix(region).is_some_and(|name| name.ends_with(' '))
}

fn language_of_letter(letter: char) -> Option<Language> {
    let tag = match letter {
        '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' => "ja",
        '\u{1100}'..='\u{11FF}' | '\u{3131}'..='\u{318E}' | '\u{AC00}'..='\u{D7A3}' => "ko",
        _ => return None,
    };
    Language::parse(tag).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fonts_are_those_of_the_tag_or_else_of_the_letters() {
        for (tag, text, expected) in [
            (Some("ja"), "서울", Some("JP")),
            (Some("ja_JP.UTF-8"), "", Some("JP")),
            (Some("ko-KR"), "", Some("KR")),
            (Some("zh"), "かな", Some("SC")),
            (Some("zh-CN"), "", Some("SC")),
            (Some("zh-SG"), "", Some("SC")),
            (Some("zh-Hans-HK"), "", Some("SC")),
            (Some("zh-TW"), "", Some("TC")),
            (Some("zh-Hant"), "", Some("TC")),
            (Some("zh_hk"), "", Some("HK")),
            (Some("zh-Hant-HK"), "", Some("HK")),
            (Some("de"), "東京の夜", Some("JP")),
            (Some("en-US"), "Seoul 서울", Some("KR")),
            (Some("de"), "漢字", None),
            (Some("??"), "コンサート", Some("JP")),
            (None, "夏・冬", None),
        ] {
            let region = of(tag, [text].into_iter()).as_ref().and_then(region_of_fonts);
            assert_eq!(region, expected, "{tag:?} {text}");
        }
    }
}
