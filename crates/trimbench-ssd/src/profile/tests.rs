use trimbench_core::{Bytes, Nanos, Ppm};

use super::*;
use crate::config::{
    CompressionConfig, ContentsConfig, MappingCacheConfig, SlcMode, TrimmedReads, VictimPolicy,
    WhenFull,
};

#[test]
fn every_built_in_profile_builds_and_is_named_like_its_file() {
    for built_in in BUILT_IN {
        let profile = Profile::parse(built_in.text)
            .unwrap_or_else(|error| panic!("{}: {error}", built_in.name));
        assert_eq!(profile.name, built_in.name);
        let total = profile.provenance.total();
        assert_eq!(total as usize, profile.values.len());
        assert!(total > 20, "{}", built_in.name);
        // What may be left out, but leaves a reader to guess.
        for key in ["trim.reads", "trim.promise"] {
            assert!(profile.values.iter().any(|value| value.key == key), "{} {key}", built_in.name);
        }
        let small = SsdConfig { capacity: Bytes::gib(1), ..profile.config };
        small.build().unwrap_or_else(|error| panic!("{}: {error}", built_in.name));
    }
}

#[test]
fn a_profile_that_is_written_is_the_one_that_is_read() {
    for built_in in BUILT_IN {
        let profile = Profile::parse(built_in.text).unwrap();
        let text = Profile::text_of(&profile.name, &profile.summary, &profile.values);
        let again = Profile::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(again.values, profile.values, "{}", built_in.name);
        assert_eq!(again.config, profile.config, "{}", built_in.name);
    }
}

#[test]
fn unknown_keys_missing_keys_and_bare_numbers_are_errors() {
    let good = BUILT_IN[0].text;
    let with = |from: &str, to: &str| {
        let changed = good.replacen(from, to, 1);
        assert_ne!(changed, good, "{from} is in the profile");
        Profile::parse(&changed).expect_err("the profile is wrong now").to_string()
    };
    assert!(with("write_buffer =", "write_bufer =").contains("write_bufer"));
    assert!(with("read = {", "# read = {").contains("the profile lacks `nand.read`"));
    assert!(with("value = \"60us\"", "value = \"60\"").contains("no unit"));
    assert!(with("value = \"60us\"", "value = \"60 parsec\"").contains("parsec"));
    assert!(with("\"blocking\"", "\"blokking\"").contains("blokking"));
    assert!(with(", assumed =", ", guessed =").contains("guessed"));
}

#[test]
fn a_value_says_exactly_once_where_it_comes_from() {
    let good = BUILT_IN[0].text;
    let twice = good.replacen("assumed = ", "fitted = \"x\", assumed = ", 1);
    assert!(matches!(Profile::parse(&twice), Err(ProfileError::Source { .. })));
}

#[test]
fn reads_after_trim_are_as_the_profile_says_and_may_be_left_out() {
    use trimbench_core::TrimPromise;

    let good = BUILT_IN[0].text;
    let contents = |text: &str| Profile::parse(text).unwrap().config.contents;
    let own = ContentsConfig { reads: TrimmedReads::Zeroes, promise: TrimPromise::Zeroes };
    assert_eq!(contents(good), own);
    for (name, promise) in [
        ("unknown", TrimPromise::Unknown),
        ("nothing", TrimPromise::Nothing),
        ("deterministic", TrimPromise::Deterministic),
        ("ones", TrimPromise::Ones),
    ] {
        let text = good
            .replace("promise = { value = \"zeroes\"", &format!("promise = {{ value = \"{name}\""));
        assert_eq!(contents(&text), ContentsConfig { promise, ..own });
    }
    for (name, reads) in [("old-data", TrimmedReads::OldData), ("unstable", TrimmedReads::Unstable)]
    {
        let text =
            good.replace("reads = { value = \"zeroes\"", &format!("reads = {{ value = \"{name}\""));
        assert_eq!(contents(&text), ContentsConfig { reads, ..own });
    }
    let without: String = good
        .lines()
        .filter(|line| !line.starts_with("reads =") && !line.starts_with("promise ="))
        .flat_map(|line| [line, "\n"])
        .collect();
    let nothing = ContentsConfig { promise: TrimPromise::Nothing, ..own };
    assert_eq!(contents(&without), nothing);
}

#[test]
fn tables_that_may_be_left_out_are_off_or_what_they_say() {
    let text_of = |name| BUILT_IN.iter().find(|profile| profile.name == name).unwrap().text;
    let plain_text = text_of("plain-nvme-tlc");
    let plain = Profile::parse(plain_text).unwrap().config;
    assert_eq!((plain.slc_cache, plain.compression), (None, None));
    assert_eq!(plain.mapping_cache, None);
    assert_eq!((plain.trim.granularity, plain.trim.alignment), (Bytes(4_096), Bytes(0)));
    assert_eq!((plain.gc.policy, plain.gc.separate_hot), (VictimPolicy::Greedy, false));
    for (name, policy) in [
        ("\"greedy\"", VictimPolicy::Greedy),
        ("\"fifo\"", VictimPolicy::Fifo),
        ("\"cost-benefit\"", VictimPolicy::CostBenefit),
        ("\"cost-benefit-root\"", VictimPolicy::CostBenefitRoot),
        ("{ d-choices = 10 }", VictimPolicy::DChoices(10)),
    ] {
        let with = format!(
            "[collector]\npolicy = {{ value = {name}, assumed = \"x\" }}\n\
             separate_hot = {{ value = true, assumed = \"x\" }}\n"
        );
        let profile = Profile::parse(&plain_text.replacen("[collector]\n", &with, 1)).unwrap();
        let gc = profile.config.gc;
        assert_eq!((gc.policy, gc.separate_hot), (policy, true));
        let shown = name.trim_matches('"');
        let policy = profile.values.iter().find(|value| value.key == "collector.policy");
        assert_eq!(policy.unwrap().value, shown);
    }
    let qlc = Profile::built_in("generic-nvme-qlc").unwrap().config;
    let cache = qlc.slc_cache.unwrap();
    assert_eq!((cache.mode, cache.when_full), (SlcMode::Dynamic, WhenFull::Direct));
    assert_eq!((cache.size, cache.minimum, cache.bits_per_cell), (Ppm(140_000), Ppm(12_000), 4));
    assert_eq!((cache.program, cache.read), (Nanos::from_micros(250), Nanos::from_micros(30)));
    let compressing = Profile::built_in("generic-sata-compressing").unwrap().config;
    assert_eq!(compressing.compression, Some(CompressionConfig { floor: Ppm(140_000) }));
    // Without times of its own, the map is read and programmed as the rest.
    let text = text_of("generic-nvme-dramless");
    let config = Profile::parse(text).unwrap().config;
    let (read, program) = (Nanos::from_micros(30), Nanos::from_micros(250));
    let cache = MappingCacheConfig { size: Bytes::mib(2), page: Bytes(4_096), read, program };
    assert_eq!(config.mapping_cache, Some(cache));
    let own = |line: &&str| line.ends_with("assumed = \"the map lies in cells with one bit\" }");
    let without: String =
        text.lines().filter(|line| !own(line)).flat_map(|line| [line, "\n"]).collect();
    let (read, program) = (config.nand.read, config.nand.program);
    let cache = MappingCacheConfig { read, program, ..cache };
    assert_eq!(Profile::parse(&without).unwrap().config.mapping_cache, Some(cache));
    // Without a time of its own, the SLC cache is read as the rest.
    let text = text_of("generic-nvme-qlc");
    let without = text.replacen("read = { value = \"30us\"", "# read = { value = \"30us\"", 1);
    let cache = Profile::parse(&without).unwrap().config.slc_cache.unwrap();
    assert_eq!(cache.read, qlc.nand.read);
    let granular = plain_text.replacen(
        "[collector]",
        "granularity = { value = \"64KiB\", assumed = \"x\" }\n\
         alignment = { value = \"8KiB\", assumed = \"x\" }\n\n[collector]",
        1,
    );
    let trim = Profile::parse(&granular).unwrap().config.trim;
    assert_eq!((trim.granularity, trim.alignment), (Bytes(65_536), Bytes(8_192)));
}

#[test]
fn values_are_counted_and_kept_as_they_were_written() {
    let profile = Profile::built_in("like-rc100").unwrap();
    let count = |origin| profile.values.iter().filter(|value| value.origin == origin).count();
    let OriginCounts { sourced, fitted, assumed, set: 0 } = profile.provenance else {
        panic!("nothing is set")
    };
    assert_eq!([sourced, fitted, assumed].map(|it| it as usize), Origin::FILED.map(count));
    assert_eq!(fitted, 1);
    let expected = format!("{assumed} of 32 values assumed, 1 fitted, {sourced} sourced");
    assert_eq!(profile.provenance.to_string(), expected);
    let find = |key: &str| profile.values.iter().find(|value| value.key == key).unwrap();
    let mapped = find("trim.per_gib_mapped");
    assert_eq!((mapped.value.as_str(), mapped.origin), ("267ms", Origin::Fitted));
    assert!(mapped.source.contains("0.25 s/GB"));
    let units = ["trim.per_gib_mapped", "host.link_bytes_per_second", "geometry.dies"];
    assert_eq!(units.map(|key| find(key).with_unit()), ["267ms/GiB", "1700MB/s", "8"]);
    assert!(profile.values.is_sorted_by(|a, b| a.key < b.key));
}
