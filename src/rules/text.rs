//! How texts are compared if upper and lower case are equivalent.

/// Converts a text into the form in which it is compared with others if upper and lower case are equivalent.
///
/// Each letter is converted on its own, so that a part of a text becomes a part of the converted text. (The lower case
/// of a sigma depends on what follows it.)
pub(crate) fn fold(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).map(|letter| if letter == 'ς' { 'σ' } else { letter }).collect()
}
