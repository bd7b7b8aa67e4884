//! The macros that make a struct of a table of settings, and an enum of values with names.

/// Makes a struct of a table of settings, with its [`FromSettings`](crate::settings::FromSettings).
///
/// ```text
/// settings! {
///     /// What the struct is.
///     #[derive(Clone, Debug)]
///     pub struct Load(values) {
///         /// accesses outstanding, {}
///         pub queue_depth: u32 = "queue-depth", presets("1", "32", "32"), within(1, 1_024);
///         /// Another struct of settings, whose rows stand here.
///         pub pace: Pace;
///     } with {
///         /// A field that is no setting, made of those above.
///         pub deep: bool = queue_depth > 8;
///     }
///     check Self::check;
/// }
/// ```
///
/// A row has a key, what holds where it is not set, and a kind. Its documentation is its help, with
/// `{}` for the range: lower case, without a full stop. `check` names a function of the struct and
/// the [`Values`](crate::settings::Values) that looks at several settings together. `values` is
/// what the expressions call the values.
#[macro_export]
macro_rules! settings {
    (@row $rows:ident $help:expr, $type:ty, $key:expr, $unset:expr, $kind:expr) => {
        $rows.extend([$crate::settings::Setting::new::<$type>($key, $unset, $kind, $help)])
    };
    (@row $rows:ident $help:expr, $type:ty) => {
        $rows.extend(<$type as $crate::settings::FromSettings>::rows())
    };
    (@read $values:ident $type:ty, $key:expr, $unset:expr, $kind:expr) => {
        $values.read($key, $unset, &$kind)?
    };
    (@read $values:ident $type:ty) => {
        <$type as $crate::settings::FromSettings>::read($values)?
    };
    (@show $shown:ident $field:expr, $key:expr, $unset:expr, $kind:expr) => {
        $shown.extend($crate::settings::ValueKind::show(&$kind, $field).map(|text| ($key, text)))
    };
    (@show $shown:ident $field:expr) => {
        $shown.extend($crate::settings::FromSettings::shown($field))
    };
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident($values:ident) {
            $(
                $(#[doc = $help:literal])+
                $field_vis:vis $field:ident: $type:ty $(= $key:expr, $unset:expr, $kind:expr)?;
            )*
        }
        $(with {
            $(
                $(#[$made_meta:meta])*
                $made_vis:vis $made:ident: $made_type:ty = $value:expr;
            )*
        })?
        $(check $check:path;)?
    ) => {
        $(#[$meta])*
        $vis struct $name {
            $( $(#[doc = $help])+ $field_vis $field: $type, )*
            $($( $(#[$made_meta])* $made_vis $made: $made_type, )*)?
        }

        impl $crate::settings::FromSettings for $name {
            fn rows() -> Vec<$crate::settings::Setting> {
                let $values = &$crate::settings::Values::new("", "");
                let _ = $values;
                let mut rows = Vec::new();
                $(
                    $crate::settings!(
                        @row rows concat!($($help),+), $type $(, $key, $unset, $kind)?
                    );
                )*
                rows
            }

            fn read(
                $values: &$crate::settings::Values,
            ) -> Result<Self, $crate::settings::SettingError> {
                let read = {
                    $( let $field: $type =
                        $crate::settings!(@read $values $type $(, $key, $unset, $kind)?); )*
                    $($( let $made: $made_type = $value; )*)?
                    Self { $($field,)* $($($made,)*)? }
                };
                $( $check(&read, $values)?; )?
                Ok(read)
            }

            fn shown(&self) -> Vec<(&'static str, String)> {
                let $values = &$crate::settings::Values::new("", "");
                let _ = $values;
                let mut shown = Vec::new();
                $( $crate::settings!(@show shown &self.$field $(, $key, $unset, $kind)?); )*
                shown
            }
        }
    };
}

/// Makes an enum of values with names, with its [`Named`](crate::settings::Named).
///
/// ```text
/// named_enum! {
///     /// What it decides.
///     #[derive(Clone, Copy, Debug, PartialEq, Eq)]
///     pub enum LinkDuplex {
///         /// One direction at a time.
///         Half = "half",
///         /// Both at once.
///         Full = "full",
///     }
/// }
/// ```
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $( $(#[$variant_meta:meta])* $variant:ident = $id:literal, )+
        }
    ) => {
        $(#[$meta])*
        $vis enum $name {
            $( $(#[$variant_meta])* $variant, )+
        }

        impl $crate::settings::Named for $name {
            const NAMES: &'static [(&'static str, Self)] = &[$( ($id, Self::$variant), )+];
        }
    };
}
