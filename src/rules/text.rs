//! Text operations that several rules share.

use crate::error::FieldErrors;
use crate::form::limits::LINE_LENGTH;
use crate::form::limits::TextLimit::{MaxLength, MinLength};
use crate::form::path::Path;
use crate::form::value::FormValue;

/// Checks a name: 1 to 255 characters.
pub(crate) fn check_name(errors: &mut FieldErrors, name: &String) {
    name.check(&[MinLength(1), MaxLength(LINE_LENGTH)], Path::Root.field("name"), errors);
}

/// Converts a text into the form in which it is compared with others if upper and lower case are equivalent.
///
/// Each letter is converted on its own, so that a part of a text becomes a part of the converted text. (The lower case
/// of a sigma depends on what follows it.)
pub(crate) fn fold(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).map(|letter| if letter == 'ς' { 'σ' } else { letter }).collect()
}
