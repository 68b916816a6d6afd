//! The language of the checkout page.

/// The languages that Checkout has, other than `auto`: the values of `locale` in the reference of the API.
const LOCALES: [&str; 42] = [
    "bg", "cs", "da", "de", "el", "en", "en-GB", "es", "es-419", "et", "fi", "fil", "fr", "fr-CA", "hi-IN", "hr", "hu",
    "id", "it", "ja", "ko", "lt", "lv", "ms", "mt", "nb", "nl", "pl", "pt", "pt-BR", "ro", "ru", "sk", "sl", "sv",
    "th", "tr", "vi", "zh", "zh-HK", "zh-TW", "auto",
];

/// Other names of languages that Checkout has.
const ALIASES: [(&str, &str); 5] = [("no", "nb"), ("nn", "nb"), ("tl", "fil"), ("hi", "hi-IN"), ("in", "id")];

/// The locale of Checkout that is closest to the locale of a customer, such as `de-AT` or `pt_BR`. `auto`, the locale
/// of the browser, if Checkout does not have the language.
pub(super) fn checkout_locale(locale: Option<&str>) -> &'static str {
    let find = |wanted: &str| LOCALES.into_iter().find(|known| known.eq_ignore_ascii_case(wanted));
    let Some(locale) = locale.map(|locale| locale.trim().replace('_', "-")) else { return "auto" };
    if let Some(exact) = find(&locale) {
        return exact;
    }
    let language = locale.split(['-', '.', '@']).next().unwrap_or_default();
    let alias = ALIASES.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(language)).map(|(_, known)| known);
    alias.or_else(|| find(language)).unwrap_or("auto")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_locale_is_chosen() {
        for (locale, expected) in [
            ("de", "de"),
            ("de-AT", "de"),
            ("de_DE.UTF-8", "de"),
            ("EN-gb", "en-GB"),
            ("en-US", "en"),
            ("pt_BR", "pt-BR"),
            ("es-419", "es-419"),
            ("no", "nb"),
            ("nn-NO", "nb"),
            ("hi", "hi-IN"),
            ("zh-TW", "zh-TW"),
            ("zh-CN", "zh"),
            ("tlh", "auto"),
            ("", "auto"),
            ("-", "auto"),
            ("\u{0}", "auto"),
            ("auto", "auto"),
        ] {
            assert_eq!(checkout_locale(Some(locale)), expected, "{locale:?}");
        }
        assert_eq!(checkout_locale(None), "auto");
    }
}
