use std::fmt::Write as _;

use trimbench_core::settings::Unit;
use trimbench_ssd::{ProfileValue, SuspendConfig, VictimPolicy};

use super::*;
use crate::TargetSpec;

/// A drive that works TRIMs off in the background, so that all keys of `trim` count.
const BASE: &str = "plain-nvme-tlc";

fn spec(settings: &str) -> Result<EmulatedSpec, TargetError> {
    EmulatedSpec::parse(&format!("{BASE}{settings}"), None)
}

fn refused(settings: &str) -> String {
    let error = spec(settings).expect_err(settings);
    assert!(error.is_usage(), "{settings}: {error}");
    error.to_string()
}

/// What must be set so that `key` may be: the rest of its table where the base has none, and what
/// its own range depends on.
fn beside(key: &str) -> String {
    let table = key.split('.').next().unwrap();
    let base = Profile::built_in(BASE).unwrap();
    let of_table = |value: &&ProfileValue| value.key.split('.').next() == Some(table);
    let mut text = String::new();
    if !base.values.iter().any(|value| of_table(&value)) {
        let mut profiles = BUILT_IN.iter().map(|it| Profile::built_in(it.name).unwrap());
        let has = profiles.find(|profile| profile.values.iter().any(|value| of_table(&value)));
        let values = has.map_or_else(Vec::new, |profile| profile.values);
        for value in values.iter().filter(of_table).filter(|value| value.key != key) {
            write!(text, ",{}={}", value.key, value.value).unwrap();
        }
        if values.is_empty() {
            assert_eq!(table, "suspend", "the one table that no profile has");
            for key in SuspendConfig::rows().iter().map(|row| row.key).filter(|it| *it != key) {
                let value = if key == "suspend.reads_max" { "7" } else { "20us" };
                write!(text, ",{key}={value}").unwrap();
            }
        }
    }
    text.push_str(match key {
        "drive.media" => ",trim.mode=none",
        "trim.alignment" => ",trim.granularity=64KiB",
        "trim.arbitration" => ",trim.mode=queued",
        "drive.buffer_frees_early" => ",drive.power_loss_protection=true",
        "trim.tail_chance" => ",trim.tail_per_gib=1ms",
        "trim.tail_per_gib" => ",trim.tail_chance=5%",
        _ => "",
    });
    text
}

/// Values to try, of which at least one must be valid and new.
fn candidates(row: &Setting) -> Vec<String> {
    let texts: &[&str] = match row.unit {
        Unit::Size => &["8KiB", "1MiB", "32KiB", "32MiB", "1GiB", "32GiB", "4TiB"],
        Unit::Time => &["901us"],
        Unit::Ratio => &["30%", "11%", "1%"],
        Unit::Number => &["3", "4", "64"],
        Unit::Flag => &["true", "false"],
        Unit::Word => return row.range.split('`').skip(1).step_by(2).map(str::to_owned).collect(),
    };
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn shown(spec: &EmulatedSpec) -> BTreeMap<&'static str, String> {
    spec.profile.config.shown().into_iter().collect()
}

#[test]
fn every_value_of_a_profile_can_be_set_and_reaches_the_drive() {
    for row in SsdConfig::rows() {
        let (key, beside) = (row.key, beside(row.key));
        let before = spec(&beside).map(|spec| shown(&spec)).unwrap_or_default();
        let valid = candidates(&row).into_iter().find_map(|value| {
            let spec = spec(&format!("{beside},{key}={value}")).ok()?;
            (shown(&spec).get(key) != before.get(key)).then_some((value, spec))
        });
        let (value, set) = match valid {
            Some(valid) => valid,
            // The kind that cannot be printed.
            None if key == "collector.policy" => {
                let set = spec(",collector.policy=d-choices=10").unwrap();
                assert_eq!(set.profile.config.gc.policy, VictimPolicy::DChoices(10));
                ("d-choices=10".to_owned(), set)
            }
            None => panic!("no value of {key} is valid"),
        };
        if key != "collector.policy" {
            let same = shown(&set)[key] == value || row.unit == Unit::Size;
            assert!(same, "{key}={value} is {}", shown(&set)[key]);
        }
        let others = |map: BTreeMap<&str, String>| {
            let depends = |other: &str| {
                let as_key = SsdConfig::rows().into_iter().find(|row| row.key == other);
                as_key.is_some_and(|row| row.unset == IfUnset::SameAs(key))
            };
            let rest = map.into_iter().filter(|(it, _)| *it != key && !depends(it));
            rest.map(|(key, text)| format!("{key}={text}")).collect::<Vec<_>>()
        };
        if !before.is_empty() {
            assert_eq!(others(shown(&set)), others(before), "nothing but {key} changes");
        }
        let text = set.to_string();
        assert!(text.contains(&format!(",{key}={value}")), "{text}");
        assert_eq!(TargetSpec::parse(&text, None).unwrap().to_string(), text);
        let drives = set.drives(Bytes(0)).unwrap_or_else(|error| panic!("{text}: {error}"));
        let provenance = drives.description.provenance.unwrap();
        assert_eq!(provenance.set as usize, set.set().count());
        assert!(provenance.set > 0 && provenance.to_string().ends_with(" set by the user"));
        let said = &drives.description.identity["set-by-the-user"];
        assert!(said.contains(&format!("{key}={value}")), "{said}");
    }
}

#[test]
fn wrong_keys_units_and_values_are_refused_with_the_nearest_key_and_the_range() {
    for row in SsdConfig::rows() {
        let Setting { key, unit, range, .. } = row;
        let error = refused(&format!(",{key}x=1"));
        assert!(error.contains(&format!("did you mean `{key}`?")), "{error}");
        let beside = beside(key);
        let (wrong, said) = match unit {
            Unit::Size | Unit::Time | Unit::Ratio => ("5parsec", "`parsec` is not a unit here"),
            Unit::Number => ("many", "`many` is not a whole number"),
            Unit::Flag | Unit::Word => ("perhaps", "`perhaps` is not one of"),
        };
        let error = refused(&format!("{beside},{key}={wrong}"));
        assert!(error.contains(key) && error.contains(said), "{error}");
        let named = matches!(unit, Unit::Flag | Unit::Word);
        assert!(named || error.ends_with(&format!("; give {range}")), "{error}");
        let absurd: &[&str] = match unit {
            Unit::Size => &["1B", "9000PiB"],
            Unit::Time => &["0", "9999h"],
            Unit::Ratio => &["0", "4294967295ppm"],
            Unit::Number => &["0"],
            Unit::Flag | Unit::Word => &[],
        };
        let settings = absurd.iter().map(|value| format!("{beside},{key}={value}"));
        let errors: Vec<String> =
            settings.filter_map(|text| Some(spec(&text).err()?.to_string())).collect();
        let name = key.split('.').next_back().unwrap();
        assert!(errors.iter().all(|error| error.contains(name)), "{key}: {errors:?}");
        assert!(named || range == "any share" || !errors.is_empty(), "{key}");
    }
    assert!(refused(",collector.policy=d-choices=0").contains("1 to 1024 choices"));
}

#[test]
fn a_table_that_is_set_in_part_names_what_it_lacks() {
    let lacks = "lacks `slc_cache.mode`, `slc_cache.bits_per_cell`, `slc_cache.program`, \
                 `slc_cache.when_full`, `slc_cache.fold_idle_after`";
    assert!(refused(",slc_cache.size=10%").contains(lacks));
    let whole = ",slc_cache.size=10%,slc_cache.mode=fixed,slc_cache.bits_per_cell=3,\
                 slc_cache.program=200us,slc_cache.when_full=fold,slc_cache.fold_idle_after=1s";
    let cache = spec(whole).unwrap().profile.config.slc_cache.unwrap();
    assert_eq!(cache.read, Nanos::from_micros(60), "as the rest is read");
}

#[test]
fn values_are_set_below_filesystems_and_pools_too_and_each_once() {
    for text in [
        "ext4,memory=1GiB:sim:vendor2,capacity=4GiB,nand.read=90us",
        "raidz2:sim:like-p3500,drive.capacity=8GiB,host.queue_depth=31*10",
    ] {
        assert_eq!(TargetSpec::parse(text, None).unwrap().to_string(), text);
    }
    let capacity = |settings: &str| {
        let text = format!("{BASE}{settings}");
        EmulatedSpec::parse(&text, Some(Bytes::gib(4))).unwrap().settled(Bytes::gib(64)).capacity()
    };
    assert_eq!(capacity(",drive.capacity=32GiB"), Bytes::gib(32), "it is the user's");
    assert_eq!(capacity(""), Bytes::gib(4));
    assert_eq!(capacity(",nand.read=61us"), Bytes::gib(4));
    for (one, other) in SAME {
        let [one, other] = [one, other].map(|key| match key {
            "capacity" | CAPACITY => format!("{key}=8GiB"),
            _ => format!("{key}=zeroes"),
        });
        let error = refused(&format!(",{one},{other}"));
        assert!(error.ends_with("is set twice"), "{error}");
    }
}
