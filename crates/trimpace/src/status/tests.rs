use super::*;

use crate::cursor::BegunPass;

const UUID: &str = "8d1a9a0e-2b1f-4d5c-9a57-0f3f6f1d2c3b";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn now() -> Zoned {
    "2026-03-10T12:00[UTC]".parse().unwrap()
}

fn mount(activity: Activity) -> MountStatus {
    MountStatus {
        mount_point: "/data".to_owned(),
        filesystem: Some(UUID.to_owned()),
        every_s: 7 * 86_400,
        hours: None,
        overdue_s: 0,
        activity,
        passes: Remembered {
            pass: None,
            last: Some(CompletedPass {
                begun: at("2026-03-09T01:00:00Z"),
                ended: at("2026-03-09T02:00:00Z"),
                discarded_bytes: 41 << 30,
                worked_s: 720,
            }),
        },
        remaining_bytes: None,
        rest_s: None,
    }
}

fn begun(mount: &mut MountStatus) {
    let begun = at("2026-03-10T01:00:00Z");
    let pass = BegunPass { begun, cursor: 1 << 30, discarded_bytes: 3 << 30, worked_s: 60 };
    mount.passes.pass = Some(pass);
}

fn line(mount: &MountStatus) -> String {
    let status = ServiceStatus { mounts: vec![mount.clone()], ..ServiceStatus::default() };
    lines(&status, &now())
}

#[test]
fn a_line_says_what_is_done_when_and_what_was() {
    let last = "; last 2026-03-09 01:00: 41 GiB in 12 min\n";
    let until = at("2026-03-16T01:00:00Z");
    let waiting = mount(Activity::Waiting { until });
    assert_eq!(line(&waiting), format!("/data: next 2026-03-16 01:00{last}"));
    let mut on = waiting.clone();
    begun(&mut on);
    let since = "; 3 GiB discarded since 2026-03-10 01:00";
    assert_eq!(line(&on), format!("/data: goes on 2026-03-16 01:00{since}{last}"));
    on.activity = Activity::Trimming;
    assert_eq!(line(&on), format!("/data: is trimmed{since}{last}"));
    (on.remaining_bytes, on.rest_s) = (Some(7 << 30), Some(900));
    let rest = ", 7 GiB of free space left, about 15 min more";
    assert_eq!(line(&on), format!("/data: is trimmed{rest}{since}{last}"));
    let paused = mount(Activity::Paused { because: "`/run/x` is there".to_owned() });
    assert_eq!(line(&paused), format!("/data: pauses: `/run/x` is there{last}"));
}

#[test]
fn a_late_and_a_first_trim_are_told() {
    let mut late = mount(Activity::Queued);
    late.overdue_s = 39_600;
    let expected = "/data: waits until another filesystem is trimmed; last 2026-03-09 01:00: \
                    41 GiB in 12 min; overdue by 11.0 h\n";
    assert_eq!(line(&late), expected);
    late.passes = Remembered::default();
    late.overdue_s = 0;
    assert!(line(&late).ends_with("; never trimmed by this service\n"));
    let none = lines(&ServiceStatus::default(), &now());
    assert_eq!(none, "no filesystem that can be trimmed is mounted\n");
}

#[test]
fn metrics_have_labels_and_leave_out_what_is_not_known() {
    let mut odd = mount(Activity::Trimming);
    odd.mount_point = "/a \"quoted\\ one\nhere".to_owned();
    odd.passes.last = None;
    let status =
        ServiceStatus { mounts: vec![mount(Activity::Queued), odd], ..ServiceStatus::default() };
    let text = metrics(&status);
    let data = format!("{{mountpoint=\"/data\",uuid=\"{UUID}\"}}");
    let odd = format!("{{mountpoint=\"/a \\\"quoted\\\\ one\\nhere\",uuid=\"{UUID}\"}}");
    for expected in [
        format!("trimpace_last_pass_discarded_bytes{data} 44023414784"),
        format!("trimpace_last_pass_begin_timestamp_seconds{data} 1773018000"),
        format!("trimpace_trimming{data} 0"),
        format!("trimpace_trimming{odd} 1"),
        format!("trimpace_period_seconds{odd} 604800"),
    ] {
        assert!(text.lines().any(|line| line == expected), "{expected}\n{text}");
    }
    assert!(!text.contains(&format!("trimpace_last_pass_discarded_bytes{odd}")), "{text}");
}

#[test]
fn of_two_services_the_second_is_refused_and_readers_see_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("run");
    assert!(read(&place).unwrap_err().contains("no trimpace service runs"));
    let metrics = folder.path().join("trimpace.prom");
    let board = StatusBoard::take(&place, Some(metrics.clone())).unwrap();
    assert!(matches!(StatusBoard::take(&place, None), Err(BoardError::Taken)));
    let status = ServiceStatus {
        process: std::process::id(),
        since: at("2026-03-10T01:00:00Z"),
        mounts: vec![mount(Activity::Failing { because: "gone".to_owned() })],
    };
    board.show(&status).unwrap();
    assert_eq!(read(&place).unwrap(), status);
    assert!(std::fs::read_to_string(metrics).unwrap().contains("trimpace_failing"));
    drop(board);
    // A killed one leaves its file.
    let dead = ServiceStatus { process: u32::MAX, ..status };
    let board = StatusBoard::take(&place, None).unwrap();
    assert!(read(&place).unwrap_err().contains("no trimpace service runs"), "it has not looked");
    board.show(&dead).unwrap();
    assert!(read(&place).unwrap_err().contains("no trimpace service runs"));
}
