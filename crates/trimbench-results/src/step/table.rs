//! The macro that makes structs of tables of steps.

/// Makes structs of tables of steps, with their [`StepTable`](crate::StepTable).
///
/// ```text
/// steps! {
///     /// What the step is.
///     #[derive(Clone, Debug)]
///     pub struct Row {
///         /// bytes of a discard
///         set size_bytes: u64;
///         /// the longest
///         measured latency_s_max: Option<f64>;
///         /// latencies of the discards
///         histogram latency: Option<LatencyHistogram>;
///         /// the worst of each second
///         series response_max: Option<Series> = "response-ms-max";
///         /// another table, whose keys stand here
///         part counts: Counts;
///         /// another one, each of whose keys begins so
///         part read: Percentiles = "read_s_";
///     }
/// }
/// ```
///
/// A row says where its value stands, its name, its type ([`StepField`](crate::StepField), or
/// [`StepTable`](crate::StepTable) of a part) and, where that is not its name, its key. Its
/// documentation is what documents say of it: lower case, without a full stop.
#[macro_export]
macro_rules! steps {
    (@place set) => { $crate::StepPlace::Set };
    (@place measured) => { $crate::StepPlace::Measured };
    (@place histogram) => { $crate::StepPlace::Histogram };
    (@place series) => { $crate::StepPlace::Series };
    (@key $prefix:ident $field:ident) => { format!("{}{}", $prefix, stringify!($field)) };
    (@key $prefix:ident $field:ident $key:literal) => { format!("{}{}", $prefix, $key) };
    (@part $prefix:ident) => { $prefix.to_owned() };
    (@part $prefix:ident $key:literal) => { format!("{}{}", $prefix, $key) };
    (@rows $rows:ident $prefix:ident part $field:ident $type:ty, $help:expr $(, $key:literal)?) => {
        $rows.extend(<$type as $crate::StepTable>::rows(&$crate::steps!(@part $prefix $($key)?)))
    };
    (@rows $rows:ident $prefix:ident $place:ident $field:ident $type:ty, $help:expr
        $(, $key:literal)?) => {
        $rows.extend([$crate::StepRow {
            key: $crate::steps!(@key $prefix $field $($key)?),
            place: $crate::steps!(@place $place),
            always: <$type as $crate::StepField>::ALWAYS,
            help: $help.trim().to_owned(),
        }])
    };
    (@store $of:ident $prefix:ident $step:ident part $field:ident $($key:literal)?) => {
        $crate::StepTable::store(&$of.$field, &$crate::steps!(@part $prefix $($key)?), $step)
    };
    (@store $of:ident $prefix:ident $step:ident $place:ident $field:ident $($key:literal)?) => {
        $crate::StepField::store(
            &$of.$field,
            $crate::steps!(@place $place),
            &$crate::steps!(@key $prefix $field $($key)?),
            $step,
        )
    };
    (@read $prefix:ident $step:ident part $field:ident $($key:literal)?) => {
        $crate::StepTable::read(&$crate::steps!(@part $prefix $($key)?), $step)?
    };
    (@read $prefix:ident $step:ident $place:ident $field:ident $($key:literal)?) => {{
        let key = $crate::steps!(@key $prefix $field $($key)?);
        match $crate::StepField::read($crate::steps!(@place $place), &key, $step) {
            Some(value) => value,
            None => return Err($crate::StepLacks { step: $step.id.clone(), key }),
        }
    }};
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $help:literal])+
                $place:ident $field:ident: $type:ty $(= $key:literal)?;
            )*
        }
    )+) => { $(
        $(#[$meta])*
        $vis struct $name {
            $( $(#[doc = $help])+ pub $field: $type, )*
        }

        impl $crate::StepTable for $name {
            fn rows(prefix: &str) -> Vec<$crate::StepRow> {
                let mut rows = Vec::new();
                $(
                    $crate::steps!(
                        @rows rows prefix $place $field $type, concat!($($help),+) $(, $key)?
                    );
                )*
                rows
            }

            fn store(&self, prefix: &str, step: &mut $crate::Step) {
                $( $crate::steps!(@store self prefix step $place $field $($key)?); )*
            }

            fn read(prefix: &str, step: &$crate::Step) -> Result<Self, $crate::StepLacks> {
                Ok(Self {
                    $( $field: $crate::steps!(@read prefix step $place $field $($key)?), )*
                })
            }
        }
    )+ };
}
