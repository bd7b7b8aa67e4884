//! Names that are no UTF-8, escape sequences, words for the shell, cells for spreadsheets.

use super::Attack;

/// The rows of this file.
pub(super) const ATTACKS: &[Attack] = &[];
