use super::*;

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(text, Path::new("/etc/trimpace.toml")).map_err(|error| error.to_string())
}

fn wrong(text: &str) -> String {
    parse(text).unwrap_err()
}

#[test]
fn an_empty_file_is_a_weekly_trim_of_everything() {
    let config = parse("").unwrap();
    assert_eq!(config.defaults, MountSettings::default());
    assert_eq!((config.mounts.len(), config.fleet, config.metrics), (0, None, None));
    assert_eq!((config.state, config.pause), (PathBuf::from(STATE), PauseRules::default()));
}

#[test]
fn a_mount_has_what_it_sets_and_the_rest_from_the_top() {
    let config = parse(
        "every = '2w'\nhours = '01:00-05:00'\np99 = '2ms'\ncover = '99%'\n\
         [[mount]]\npath = '/data'\n\
         [[mount]]\npath = '/scratch'\nevery = '1d'\nshare = '1%'\nminimum = '1MiB'\n\
         probe = 'flushes'\n\
         [pause]\nmd = false\nwhile-active = ['borgmatic.service']\nwhile-exists = ['/run/x']",
    );
    let config = config.unwrap();
    let top = MountSettings {
        every: DAY.times(14),
        hours: Some("01:00-05:00".parse().unwrap()),
        keep: Keep::Latency(Some(Nanos::from_millis(2))),
        leave: Leave::AllButCover(Ppm(990_000)),
        probe: ProbeName::Reads,
    };
    assert_eq!(config.defaults, top);
    let scratch = MountSettings {
        every: DAY,
        keep: Keep::Share(Ppm(10_000)),
        leave: Leave::Below(Bytes::mib(1)),
        probe: ProbeName::Flushes,
        ..top
    };
    let of = |path: &str, settings| MountConfig { path: path.into(), settings };
    assert_eq!(config.mounts, [of("/data", top), of("/scratch", scratch)]);
    let pause = PauseRules {
        md: false,
        btrfs: true,
        while_active: vec!["borgmatic.service".to_owned()],
        while_exists: vec!["/run/x".into()],
    };
    assert_eq!(config.pause, pause);
}

#[test]
fn a_mistyped_key_is_told_with_its_line_and_the_one_that_was_meant() {
    let said = wrong("every = '7d'\n\n[[mount]]\npath = '/'\nhour = '01:00-05:00'");
    assert!(said.starts_with("`/etc/trimpace.toml`, line 5: "), "{said}");
    assert!(said.contains("no key `hour` in `[[mount]]`; did you mean `hours`?"), "{said}");
    for (text, part) in [
        ("evry = '7d'", "did you mean `every`?"),
        ("[fleet]\nhosts = ['a']\natonce = 2", "did you mean `at-once`?"),
        ("[pause]\nwhile_active = []", "did you mean `while-active`?"),
        ("[puase]\nmd = true", "did you mean `pause`?"),
    ] {
        assert!(wrong(text).contains(part), "{}", wrong(text));
    }
}

#[test]
fn values_that_cannot_be_meant_are_refused_in_words() {
    for (text, part) in [
        ("every = 7", "`every` must be a text"),
        ("every = '7'", "`7` is no time between a minute and a year"),
        ("every = '400d'", "between a minute and a year"),
        ("every = '0s'", "between a minute and a year"),
        ("hours = '1-5'", "`1-5` is not a part of the day, as `01:00-05:00`"),
        ("every = '12h'\nhours = '01:00-05:00'", "`every` must be `1d` or more"),
        ("p99 = '0ms'", "more than 0"),
        ("p99 = '2ms'\nshare = '1%'", "`p99` and `share` exclude each other"),
        ("cover = '99%'\nminimum = '1MiB'", "exclude each other"),
        ("share = '101%'", "(0%, 100%]"),
        ("minimum = 'much'", "`minimum`: "),
        ("probe = 'writes'", "none of reads, flushes, none"),
        ("state = 'here'", "`here` does not begin with `/`"),
        ("[[mount]]\nevery = '1d'", "needs a `path`"),
        ("[[mount]]\npath = '/a'\n[[mount]]\npath = '/a'", "`/a` is named twice"),
        ("[mount]\npath = '/a'", "`[[mount]]`"),
        ("mount = ['/a']", "`[[mount]]`"),
        ("fleet = 3", "`[fleet]`"),
        ("hours = '01:00-05:00'\n[fleet]\nhosts = ['a']\nslots = 3", "either `hosts`"),
        ("hours = '01:00-05:00'\n[fleet]", "either `hosts`"),
        ("hours = '01:00-05:00'\n[fleet]\nhosts = ['a']\nat-once = 0", "at least 1"),
        ("[fleet]\nhosts = ['a', 'b']", "shares out `hours`"),
        ("hours = '01:00-02:00'\n[fleet]\nslots = 10", "would be 6 min long"),
        ("hours = '01:00-05:00'\n[fleet]\nslots = 0x2", "a whole number"),
        ("[pause]\nwhile-exists = ['run/x']", "does not begin with `/`"),
        ("[pause]\nwhile-active = ['borgmatic']", "does not end in .service, .scope, .slice"),
        ("[pause]\nmd = 'yes'", "`true` or `false`"),
        ("[pause]\nwhile-active = 'a'", "a list of texts"),
        ("every = ", "line 1"),
    ] {
        let said = wrong(text);
        assert!(said.contains(part), "{text}: {said}");
    }
}

#[test]
fn hosts_of_a_fleet_have_slots() {
    let config =
        parse("hours = '01:00-05:00'\n[fleet]\nhosts = ['db1', 'db2', 'db3']\nat-once = 2");
    let fleet = config.unwrap().fleet.unwrap();
    let slot = |host| fleet.slot(host, "volume").map(|slot| slot.to_string());
    assert_eq!(slot("db1").as_deref(), Some("1 of 2"));
    assert_eq!(slot("db3").as_deref(), Some("2 of 2"));
    assert_eq!(slot("web1"), None);
    let config = parse("hours = '01:00-05:00'\n[fleet]\nslots = 8\nhost = 'a name'");
    let fleet = config.unwrap().fleet.unwrap();
    assert_eq!(fleet.slot("db1", "volume"), fleet.slot("db2", "volume"), "the name counts");
    assert_eq!(fleet.slot("db1", "volume"), Some(Slot::drawn("a name", "volume", 8)));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Config::read(Path::new("/nowhere/trimpace.toml")).unwrap_err().to_string();
    assert!(error.contains("cannot read `/nowhere/trimpace.toml`"), "{error}");
}
