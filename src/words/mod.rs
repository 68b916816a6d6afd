//! The words of pages and documents in six languages, and dates and amounts as each language writes them.
//!
//! To add a language, copy the file of another one, translate it, and add it to [`ALL`]. The words of the page for
//! check-in are in `door.json`.

#![cfg_attr(
    not(feature = "event-pages"),
    allow(dead_code, unused_imports, reason = "a language has all words, also those of features that are off")
)]

mod dates;
mod dutch;
mod english;
mod french;
mod german;
mod italian;
mod money;
mod spanish;
mod vocabulary;

#[cfg(any(feature = "server", feature = "mail"))]
pub(crate) use dates::day_at;
#[cfg(feature = "server")]
pub(crate) use dates::time_at;
pub(crate) use dates::{moment, period, validity, zone_of};
#[cfg(test)]
pub(crate) use money::SIGNS_OF_CURRENCIES;
#[cfg(feature = "server")]
pub(crate) use money::count;
pub(crate) use money::money;
pub(crate) use vocabulary::{Message, Words};

const ALL: [&Words; 7] = [
    &english::ENGLISH,
    &english::AMERICAN,
    &german::GERMAN,
    &french::FRENCH,
    &spanish::SPANISH,
    &italian::ITALIAN,
    &dutch::DUTCH,
];

/// The words of the page for check-in, by language. Its script reads them as JSON, and replaces names in braces: `{time}`
/// of a scan, `{age}` of the list of tickets, `{count}` of scans, `{type}` of a ticket. The names of `reasons` are those
/// of [`Reason`](crate::error::Reason), and those of the page.
pub(crate) fn door() -> serde_json::Value {
    serde_json::from_str(include_str!("door.json")).unwrap_or_default()
}

/// Why a scan was refused, in a language, as the page for check-in says it. Without a reason, no ticket has the code.
#[cfg(feature = "server")]
pub(crate) fn scan_refusals(words: &Words) -> impl Fn(Option<&str>) -> String + use<> {
    let language = words.language.split('-').next().unwrap_or_default();
    let mut door = door();
    let reasons = door[language]["reasons"].take();
    move |reason| {
        let name = reason.unwrap_or("unknown-code");
        reasons[name].as_str().unwrap_or(name).to_owned()
    }
}

/// Whether a text has the form of a language tag (RFC 5646, section 2.1): subtags of 1 to 8 letters and digits,
/// separated by hyphens. The first has 2 to 8 letters and no digit.
fn is_tag(text: &str) -> bool {
    let mut subtags = text.split('-');
    let primary = subtags.next().unwrap_or_default();
    let is_primary = (2..=8).contains(&primary.len()) && primary.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_primary
        && subtags
            .all(|subtag| (1..=8).contains(&subtag.len()) && subtag.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// The language of what an organizer has written beside these words, if it is another one than theirs. `language` is
/// that of the order, in which the organizer is assumed to write. `None` if it does not have the form of a language
/// tag.
pub(crate) fn foreign<'a>(words: &Words, language: Option<&'a str>) -> Option<&'a str> {
    language.filter(|tag| is_tag(tag) && find(tag).is_none_or(|found| found.language != words.language))
}

/// Where English dates are written as in the United States.
const AMERICAN_REGIONS: [&str; 3] = ["US", "CA", "PH"];

/// Returns the words for the first tag, such as `de-AT`, whose language has words here. Falls back to English.
pub(crate) fn of<'a>(tags: impl IntoIterator<Item = &'a str>) -> &'static Words {
    tags.into_iter().find_map(find).unwrap_or(&english::ENGLISH)
}

/// The words for a reader: in the language of an order, or else in the first that a browser accepts.
pub(crate) fn for_reader(language: Option<&str>, accepted: &[String]) -> &'static Words {
    of(language.into_iter().chain(accepted.iter().map(String::as_str)))
}

/// The words of a language tag (RFC 5646). Its primary subtag decides, and for dates in English also its region.
fn find(tag: &str) -> Option<&'static Words> {
    let mut subtags = tag.trim().split(['-', '_', '.']);
    let primary = subtags.next().unwrap_or_default();
    let words = ALL.iter().copied().find(|words| words.language.eq_ignore_ascii_case(primary))?;
    let is_american = |subtag: &str| AMERICAN_REGIONS.iter().any(|region| region.eq_ignore_ascii_case(subtag));
    let is_english = std::ptr::eq(words, &raw const english::ENGLISH);
    Some(if is_english && subtags.any(is_american) { &english::AMERICAN } else { words })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_primary_subtag_decides_and_else_it_is_english() {
        for (tag, language) in [
            ("de-AT", "de"),
            ("FR_ca", "fr"),
            ("nl_NL.UTF-8", "nl"),
            ("it", "it"),
            ("es-419", "es"),
            ("en-GB", "en"),
            ("en-us", "en-US"),
            ("en_CA", "en-US"),
            ("pl-PL", "en"),
            ("german", "en"),
            ("", "en"),
        ] {
            assert_eq!(of([tag]).language, language, "{tag:?}");
        }
        assert_eq!(of(["pl", "nl", "de"]).language, "nl");
        assert_eq!(of([]).language, "en");
    }

    #[test]
    fn a_text_that_has_not_the_form_of_a_language_tag_is_none() {
        for tag in ["ar", "zh-Hant-TW", "es-419", "sr-Latn"] {
            assert!(is_tag(tag), "{tag}");
        }
        for text in ["", "a", "ar-", "-ar", "ar_EG", "<b>", "4r", "toolongprimary", "ar-waytoolong", "ar EG"] {
            assert!(!is_tag(text), "{text}");
        }
    }

    #[test]
    fn the_words_of_check_in_have_the_same_values_in_all_languages() {
        fn values(words: &serde_json::Value) -> Vec<(String, Vec<&str>)> {
            let serde_json::Value::Object(members) = words else {
                let text = words.as_str().expect("a text");
                let mut names: Vec<_> = text.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
                names.sort_unstable();
                return vec![(String::new(), names)];
            };
            let of_members = members.iter().flat_map(|(name, member)| {
                values(member).into_iter().map(move |(path, names)| (format!("{name}.{path}"), names))
            });
            of_members.collect()
        }
        let all = door();
        let english = values(&all["en"]);
        assert!(english.iter().filter(|(_, names)| !names.is_empty()).count() > 10, "{english:?}");
        // Those of American English are English.
        for language in ALL.iter().map(|words| words.language).filter(|language| !language.contains('-')) {
            assert_eq!(values(&all[language]), english, "{language}");
        }
    }
}
