//! Attributes as Intel began them: items with an id, a normalized value, and six bytes.

/// An attribute with one number, and its normalized value. The items have 12 bytes (id, two
/// reserved, normalized, reserved, six of the number, reserved) or 10 (id, normalized, six of the
/// number, two reserved).
macro_rules! attribute {
    (12, $id:literal, $name:literal, $unit:literal, $meaning:literal) => {
        $crate::vendors::attributes::attribute!(@one $id, $name, $unit, $meaning, 5, 3)
    };
    (10, $id:literal, $name:literal, $unit:literal, $meaning:literal) => {
        $crate::vendors::attributes::attribute!(@one $id, $name, $unit, $meaning, 2, 1)
    };
    (
        @one $id:literal, $name:literal, $unit:literal, $meaning:literal, $raw:literal,
        $norm:literal
    ) => {
        $crate::page::LogAttribute {
            id: $id,
            fields: &[
                $crate::field::LogField::counter(concat!($name, "-", $unit), $raw, 6, $meaning),
                $crate::field::LogField::gauge(
                    concat!($name, "-normalized-percent"),
                    $norm,
                    1,
                    "remaining, as the vendor sees it",
                ),
            ],
        }
    };
}

/// An attribute whose six bytes hold several numbers: key, first byte of the six, width.
macro_rules! parts {
    ($layout:tt, $id:literal, $meaning:literal, $($name:literal $at:literal $width:literal),+) => {
        $crate::page::LogAttribute {
            id: $id,
            fields: &[$($crate::field::LogField::gauge(
                $name,
                $crate::vendors::attributes::raw_of($layout) + $at,
                $width,
                $meaning,
            )),+],
        }
    };
}

/// Where the six bytes of an item begin.
pub(super) const fn raw_of(item: usize) -> usize {
    if item == 12 { 5 } else { 2 }
}

pub(super) use {attribute, parts};
