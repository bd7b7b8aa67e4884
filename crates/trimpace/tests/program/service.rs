//! The service, `trimpace run`: on filesystems of loop devices, killed, stopped and in everyone's
//! way.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use trimbench_core::Nanos;

use crate::stage::{EXT4, Running, Stage, XFS, apart, holds_within, run, trimpace};

/// Longer than a pass here takes, and than the service needs to see what has changed.
const PATIENCE: Nanos = Nanos::from_secs(120);
/// Half of the time, whatever other requests take: tests run beside others on one disk.
const QUICKLY: &str = "probe = 'none'\nshare = '50%'\n";
/// A pass of some seconds: calls take a small part of the time.
const SLOWLY: &str = "probe = 'none'\nshare = '0.2%'\n";
/// With many allocation groups, each of which takes a call.
const MANY_CALLS: &[&str] = &["mkfs.xfs", "-q", "-K", "-d", "agcount=16"];

/// A configuration of its own, and the state beside it.
struct Host {
    config: PathBuf,
    state: PathBuf,
}

impl Host {
    fn new(folder: &Path, settings: &str, mounts: &[&Stage]) -> Self {
        let (config, state) = (folder.join("trimpace.toml"), folder.join("state"));
        let mounts = mounts.iter().map(|stage| format!("[[mount]]\npath = '{}'\n", stage.point()));
        let mounts: String = mounts.collect();
        let text = format!("state = '{}'\n{settings}\n{mounts}", state.display());
        fs::write(&config, text).unwrap();
        Self { config, state }
    }

    /// A service that has looked at its mounts.
    fn begin(&self) -> Running {
        let service = Running::begin(&["run", "--config", self.config.to_str().unwrap()]);
        let is_there = || all_status()["process"].as_u64() == Some(u64::from(service.id()));
        assert!(holds_within(PATIENCE, is_there), "it does not begin");
        service
    }
}

fn all_status() -> Value {
    let status = trimpace(&["status", "--output-format", "json"]);
    serde_json::from_str(&status.out).unwrap_or_default()
}

/// What the service says of its only mount; nothing if none runs.
fn status() -> Value {
    all_status()["mounts"][0].clone()
}

fn is(activity: &str) -> bool {
    status()["activity"]["is"] == activity
}

/// Whether a pass has come some way.
fn is_under_way() -> bool {
    status()["passes"]["pass"]["cursor"].as_u64().is_some_and(|cursor| cursor > 64 << 20)
}

fn ends_well(service: Running) -> String {
    service.signal("TERM");
    let ended = service.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.errors
}

#[test]
fn a_mount_is_trimmed_once_in_its_period_also_by_a_later_service() {
    let test = "service::a_mount_is_trimmed_once_in_its_period_also_by_a_later_service";
    let Some(folder) = apart(test) else { return };
    for mkfs in [EXT4, XFS] {
        let Some(stage) = Stage::filled(&folder, mkfs[0], 512, mkfs) else { return };
        let before = stage.discarded();
        let host = Host::new(&folder, &format!("every = '1d'\n{QUICKLY}"), &[&stage]);
        let service = host.begin();
        assert!(holds_within(PATIENCE, || is("waiting")), "{}", status());
        let passes = &status()["passes"];
        assert!(passes["pass"].is_null() && passes["last"].is_object(), "{passes}");
        let trimmed = stage.discarded() - before;
        assert!(trimmed > 300 << 20, "{trimmed}");
        assert_eq!(passes["last"]["discarded_bytes"].as_u64(), Some(trimmed));
        let said = ends_well(service);
        assert!(said.contains(": begins\n") && said.contains(": trimmed: "), "{said}");
        let service = host.begin();
        assert!(holds_within(PATIENCE, || is("waiting")), "{}", status());
        let printed = trimpace(&["status"]).out;
        let expected = [stage.point(), ": next ", "; last ", " MiB in "];
        assert!(expected.iter().all(|part| printed.contains(part)), "{printed}");
        ends_well(service);
        assert_eq!(stage.discarded() - before, trimmed, "{}", mkfs[0]);
    }
}

#[test]
fn after_a_kill_the_next_service_goes_on_where_it_was() {
    let test = "service::after_a_kill_the_next_service_goes_on_where_it_was";
    let Some(folder) = apart(test) else { return };
    // XFS forgets what was trimmed: what is trimmed twice is counted twice.
    let Some(stage) = Stage::new(&folder, "xfs", 2_048, MANY_CALLS) else { return };
    let all = {
        let before = stage.discarded();
        run("fstrim", &[stage.point()]);
        stage.discarded() - before
    };
    let before = stage.discarded();
    let host = Host::new(&folder, SLOWLY, &[&stage]);
    let mut kills = 0;
    let said = loop {
        let service = host.begin();
        let earlier = status()["passes"]["pass"]["cursor"].as_u64().unwrap_or_default();
        let is_further = || {
            let cursor = status()["passes"]["pass"]["cursor"].as_u64();
            cursor.is_some_and(|cursor| cursor > earlier) || is("waiting")
        };
        assert!(holds_within(PATIENCE, is_further), "{}", status());
        if kills == 5 || is("waiting") {
            assert!(holds_within(PATIENCE, || is("waiting")), "{}", status());
            break ends_well(service);
        }
        service.signal("KILL");
        service.ended();
        kills += 1;
    };
    assert!(kills > 2 && said.contains(": goes on at "), "{kills}: {said}");
    let discarded = stage.discarded() - before;
    // A call that was under way at each kill.
    assert!(discarded >= all && discarded < all + all / 4, "{discarded} of {all}");
    stage.check(&["xfs_repair", "-n"]);
}

#[test]
fn it_stops_within_a_step_and_keeps_what_it_has_done() {
    let test = "service::it_stops_within_a_step_and_keeps_what_it_has_done";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::new(&folder, "xfs", 2_048, MANY_CALLS) else { return };
    let host = Host::new(&folder, SLOWLY, &[&stage]);
    let service = host.begin();
    assert!(holds_within(PATIENCE, is_under_way), "{}", status());
    let other = trimpace(&["run", "--config", host.config.to_str().unwrap()]);
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(other.errors.contains("another trimpace service runs here"), "{other:?}");
    let said = ends_well(service);
    assert!(said.contains(": stops: the service ends; "), "{said}");
    let [kept] = &fs::read_dir(&host.state).unwrap().collect::<Vec<_>>()[..] else { panic!() };
    let kept = fs::read(kept.as_ref().unwrap().path()).unwrap();
    let kept: Value = serde_json::from_slice(&kept).unwrap();
    assert!(kept["remembered"]["pass"]["cursor"].as_u64() > Some(64 << 20), "{kept}");
    let none = trimpace(&["status"]);
    assert_eq!(none.code, Some(1));
    assert!(none.errors.contains("no trimpace service runs here"), "{none:?}");
}

#[test]
fn it_gives_way_to_a_backup_and_goes_on_after_it() {
    let test = "service::it_gives_way_to_a_backup_and_goes_on_after_it";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::new(&folder, "xfs", 2_048, MANY_CALLS) else { return };
    let lock = folder.join("backup.lock");
    let settings = format!("{SLOWLY}[pause]\nwhile-exists = ['{}']\n", lock.display());
    let host = Host::new(&folder, &settings, &[&stage]);
    let service = host.begin();
    assert!(holds_within(PATIENCE, is_under_way), "{}", status());
    fs::write(&lock, "").unwrap();
    assert!(holds_within(PATIENCE, || is("paused")), "{}", status());
    let because = status()["activity"]["because"].clone();
    assert!(because.as_str().unwrap().contains("backup.lock` is there"), "{because}");
    let at = stage.discarded();
    trimbench_linux::pause(Nanos::from_millis(500));
    assert_eq!(stage.discarded(), at);
    fs::remove_file(&lock).unwrap();
    assert!(holds_within(PATIENCE, || is("waiting")), "{}", status());
    let said = ends_well(service);
    assert!(said.contains("backup.lock` is there; ") && said.contains(": goes on at "), "{said}");
}

#[test]
fn a_mount_that_comes_and_goes_is_trimmed_while_it_is_there() {
    let test = "service::a_mount_that_comes_and_goes_is_trimmed_while_it_is_there";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::new(&folder, "xfs", 2_048, MANY_CALLS) else { return };
    let host = Host::new(&folder, SLOWLY, &[&stage]);
    let service = host.begin();
    assert!(holds_within(PATIENCE, is_under_way), "{}", status());
    run("umount", &["--lazy", stage.point()]);
    assert!(holds_within(PATIENCE, || is("absent")), "{}", status());
    assert!(holds_within(PATIENCE, || {
        // The one that was unmounted lazily may take a moment to go.
        let output =
            std::process::Command::new("mount").args([&stage.node, stage.point()]).output();
        output.is_ok_and(|output| output.status.success())
    }));
    assert!(holds_within(PATIENCE, || is("waiting")), "{}", status());
    let said = ends_well(service);
    assert!(said.contains(": goes on at "), "{said}");
}

#[test]
fn what_must_not_be_trimmed_is_left_alone_and_told() {
    let test = "service::what_must_not_be_trimmed_is_left_alone_and_told";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::new(&folder, "ext4", 256, EXT4) else { return };
    let second = folder.join("second");
    fs::create_dir(&second).unwrap();
    run("mount", &["--bind", stage.point(), second.to_str().unwrap()]);
    let host = Host::new(&folder, QUICKLY, &[&stage]);
    let text = fs::read_to_string(&host.config).unwrap();
    fs::write(&host.config, format!("{text}[[mount]]\npath = '{}'\n", second.display())).unwrap();
    let before = stage.discarded();
    let service = host.begin();
    assert!(holds_within(PATIENCE, || is("waiting")), "{}", status());
    let other = all_status()["mounts"][1]["activity"].clone();
    assert_eq!(other["is"], "unsupported", "{other}");
    let because = format!("it is the filesystem on `{}`", stage.point());
    assert_eq!(other["because"].as_str(), Some(because.as_str()));
    ends_well(service);
    let once = stage.discarded() - before;
    assert!(once > 100 << 20 && once < 256 << 20, "{once}");
    run("umount", &[second.to_str().unwrap()]);
    // As after an error.
    run("mount", &["-o", "remount,ro", stage.point()]);
    fs::remove_dir_all(&host.state).unwrap();
    let service = host.begin();
    assert!(is("unsupported"), "{}", status());
    assert_eq!(status()["activity"]["because"], "it is mounted read-only");
    ends_well(service);
}

#[test]
fn what_it_remembers_may_be_damaged_or_have_no_room() {
    let test = "service::what_it_remembers_may_be_damaged_or_have_no_room";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::filled(&folder, "ext4", 512, EXT4) else { return };
    let host = Host::new(&folder, QUICKLY, &[&stage]);
    let service = host.begin();
    assert!(holds_within(PATIENCE, || is("waiting")), "{}", status());
    ends_well(service);
    let [kept] = &fs::read_dir(&host.state).unwrap().collect::<Vec<_>>()[..] else { panic!() };
    fs::write(kept.as_ref().unwrap().path(), "{\"format\": 1, \"filesys").unwrap();
    let service = host.begin();
    assert!(holds_within(PATIENCE, || is("waiting")), "{}", status());
    let said = ends_well(service);
    assert!(said.contains(" is damaged; it is kept as "), "{said}");
    // A disk without room.
    run("mount", &["-t", "tmpfs", "-o", "size=4k", "none", host.state.to_str().unwrap()]);
    fs::write(host.state.join("full"), [0; 4_096]).unwrap();
    let service = host.begin();
    assert!(holds_within(PATIENCE, || is("waiting")), "{}", status());
    let said = ends_well(service);
    run("umount", &[host.state.to_str().unwrap()]);
    assert!(said.contains("; after a restart its pass begins anew"), "{said}");
}

#[test]
fn a_configuration_is_checked_before_it_is_used() {
    let test = "service::a_configuration_is_checked_before_it_is_used";
    let Some(folder) = apart(test) else { return };
    let Some(stage) = Stage::new(&folder, "ext4", 64, EXT4) else { return };
    let checked = |settings: &str| {
        let host = Host::new(&folder, settings, &[&stage]);
        trimpace(&["check-config", "--config", host.config.to_str().unwrap()])
    };
    let good = checked("every = '2w'\nhours = '01:00-05:00'\n[fleet]\nslots = 4\n");
    assert_eq!((good.code, good.errors.as_str()), (Some(0), ""));
    let expected = format!("{}: once in 14 days, between 01:00-05:00, slot ", stage.point());
    assert!(good.out.starts_with(&expected), "{}", good.out);
    let wrong = checked("evry = '2w'");
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.errors.contains("line 2: there is no key `evry`"), "{wrong:?}");
    let stranger = checked("hours = '01:00-05:00'\n[fleet]\nhosts = ['another']\n");
    assert_eq!(stranger.code, Some(1));
    assert!(stranger.errors.contains("is not one of the `hosts` of `[fleet]`"), "{stranger:?}");
    let host = Host::new(&folder, "hours = '01:00-05:00'\n[fleet]\nhosts = ['another']", &[&stage]);
    let refused = trimpace(&["run", "--config", host.config.to_str().unwrap()]);
    assert_eq!((refused.code, refused.errors), (Some(1), stranger.errors));
}
