use trimbench_core::{Bytes, Caveat};
use trimbench_results::{Coordinates, Interval, MetricAxis, Role, Step, Verdict};

use super::*;
use crate::testing::{detail, figure, placed, record, session, three_drives};

const PLAIN: Style = Style { width: 80, colour: false, unicode: true };
const NOISE: &str = "noise: not told apart from placebo";
const ASCII: Style = Style { width: 80, colour: false, unicode: false };

/// The text without ANSI sequences.
fn uncoloured(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').unwrap().1)
}

fn widest(text: &str) -> usize {
    uncoloured(text).lines().map(|line| line.chars().count()).max().unwrap()
}

/// The position of `part` in `text`, which must hold it.
fn position(text: &str, part: &str) -> usize {
    text.find(part).unwrap_or_else(|| panic!("`{part}` is missing in:\n{text}"))
}

fn full(record: &RunRecord, style: Style) -> String {
    terminal(record, Detail::Full, style)
}

fn answer(record: &RunRecord, style: Style) -> String {
    terminal(record, Detail::Answer { place: "RUN" }, style)
}

/// Four drives with everything that a method says, one of each verdict.
fn four_drives() -> RunRecord {
    let mut sessions = three_drives().sessions;
    sessions.push(session("generic-sata-tlc", 0.012, [-0.01, 0.03]));
    let verdicts = [
        Verdict::DiffersFromPlacebo,
        Verdict::NothingToNotice,
        Verdict::DiffersFromPlacebo,
        Verdict::NotToldFromPlacebo,
    ];
    for (session, verdict) in sessions.iter_mut().zip(verdicts) {
        let headline = session.figures.iter_mut().find(|figure| figure.headline).unwrap();
        headline.verdict = Some(verdict);
        detail(session);
    }
    sessions[3].figures[1].caveat(Caveat::Noise);
    record(sessions, Outcome::Complete)
}

/// Changes a deletion.
fn change(step: &mut Step, change: impl FnOnce(&mut DeletionStep)) {
    let mut deletion = step.read().unwrap();
    change(&mut deletion);
    step.store(&deletion);
}

/// Compares with the golden file of that name; with `UPDATE=1` in the environment, writes it.
#[expect(clippy::disallowed_methods, reason = "how a developer asks for new golden files")]
fn check(text: &str, name: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/terminal/golden");
    let path = std::path::Path::new(folder).join(name).with_extension("txt");
    if std::env::var("UPDATE").is_ok_and(|value| value == "1") {
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, golden, "the report now reads:\n{text}");
}

#[test]
fn the_answer_reads_as_agreed() {
    let record = four_drives();
    check(&answer(&record, Style { width: 40, ..ASCII }), "answer-40");
    check(&answer(&record, PLAIN), "answer-80");
    check(&answer(&record, Style { width: 120, ..ASCII }), "answer-120");
    let mut one = four_drives();
    one.sessions.drain(1..);
    one.plan.drain(1..);
    check(&answer(&one, PLAIN), "answer-one");
}

#[test]
fn the_full_report_of_a_drive_reads_as_agreed() {
    let mut record = four_drives();
    record.sessions.drain(1..);
    record.plan.drain(1..);
    check(&full(&record, Style { width: 60, ..ASCII }), "full-60");
    check(&full(&record, PLAIN), "full-80");
    check(&full(&record, Style { width: 120, ..ASCII }), "full-120");
}

#[test]
fn findings_are_not_broken_at_80_columns() {
    let text = full(&four_drives(), PLAIN);
    let row = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
    assert!(row("vendor2").contains("  differs from placebo  "));
    assert!(row("like-optane-900p").contains("  nothing to notice  "));
    // What a finding says after its colon stands once below the table.
    assert!(
        row("generic-sata-tlc").contains("  noise  ") && text.contains(&format!("\n{NOISE}\n"))
    );
}

#[test]
fn each_deletion_that_differs_from_the_next_is_marked() {
    let mut record = four_drives();
    let strips = full(&record, PLAIN);
    let strips = strips.split("\n\n").find(|part| part.starts_with("Largest")).unwrap();
    assert_eq!(strips.matches("4GB deleted at 1 s").count(), 1);
    change(&mut record.sessions[2].steps[2], |deletion| deletion.deleted_at_s = 2.0);
    let text = full(&record, PLAIN);
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("Largest")).collect();
    let starts = |index: usize, name: &str| lines[index].starts_with(name);
    assert!(starts(2, "like-optane-900p") && starts(3, "generic-sata-tlc"), "{text}");
    assert!(lines[4].ends_with("\u{25b2} 4GB deleted at 1 s") && starts(5, "generic-nvme-tlc"));
    assert!(lines[6].ends_with("\u{25b2} 4GB deleted at 2 s") && starts(7, "vendor2"), "{text}");
    assert!(lines[8].ends_with("\u{25b2} 4GB deleted at 1 s"), "{text}");
}

#[test]
fn sessions_on_one_target_are_told_apart() {
    let mut record = four_drives();
    for (index, session) in record.sessions.iter_mut().enumerate() {
        session.target.name = "vendor2".to_owned();
        session.plan.target = "sim:vendor2".to_owned();
        let mode = if index == 0 { "trim" } else { "unlink" };
        session.plan.options.insert("mode".to_owned(), mode.to_owned());
    }
    record.sessions[3].plan.target = "sim:vendor2,capacity=8GiB".to_owned();
    let text = full(&record, Style { width: 120, ..PLAIN });
    for name in
        ["\nvendor2 mode trim ", "\nvendor2 #2 ", "\nvendor2 #3 ", "\nsim:vendor2,capacity=8GiB "]
    {
        assert_eq!(text.matches(name).count(), 2, "table, picture: {name}\n{text}");
    }
}

#[test]
fn what_was_left_out_is_grouped_by_reason_with_a_command_that_includes_it() {
    let mut record = four_drives();
    for method in ["recovery", "settle"] {
        let mut left_out = record.sessions[0].clone();
        left_out.plan.method = method.to_owned();
        left_out.figures.clear();
        left_out.left_out = Some("it writes to a device: name `sim:NAME`".to_owned());
        record.plan.push(left_out.plan.clone());
        record.sessions.push(left_out);
    }
    let text = answer(&record, Style { width: 120, ..PLAIN });
    let line = "left out: recovery, settle: it writes to a device: name `sim:NAME`; `trimbench run \
                --target sim:NAME` includes it";
    assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(line), "{text}");
    assert!(text.contains("4 of 4 sessions"), "what was left out is not one of them: {text}");
    let text = full(&record, PLAIN);
    assert_eq!(text.matches("left out     ").count(), 2, "{text}");
}

#[test]
fn an_answer_cuts_names_in_their_middle() {
    let mut record = four_drives();
    for (session, disk) in record.sessions.iter_mut().zip(["first", "second"]) {
        session.target.name = format!("/mnt/{}/{disk}", "deep/".repeat(20));
    }
    let text = answer(&record, PLAIN);
    assert!(text.lines().any(|line| line.starts_with("/mnt/") && line.contains("/first  ")));
    assert!(text.lines().any(|line| line.starts_with("/mnt/") && line.contains("/second  ")));
}

#[test]
fn an_answer_has_no_hashes_and_says_how_to_see_the_rest() {
    let mut record = four_drives();
    record.program.commit = "0123456789abcdef".to_owned();
    let text = answer(&record, PLAIN);
    assert!(text.ends_with("\ndetails: `trimbench report RUN`\n"), "{text}");
    for hash in ["0123456789abcdef", "00ff"] {
        assert!(!text.contains(hash) && full(&record, PLAIN).contains(hash), "{text}");
    }
}

#[test]
fn verdicts_come_first_and_each_answer_is_typed_once() {
    let text = answer(&costly_and_cheap(), PLAIN);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("vendor2 ") && lines[0].contains("weekly `fstrim`"), "{text}");
    assert!(lines[1].starts_with("vendor3 ") && lines[1].contains("weekly `fstrim`"), "{text}");
    assert!(lines[2].starts_with("like-optane-900p ") && lines[2].contains("mount with `discard`"));
    assert_eq!(text.matches("# systemctl enable --now fstrim.timer").count(), 1, "{text}");
    assert_eq!(text.matches("# mount -o remount,discard /MOUNTPOINT").count(), 1, "{text}");
}

#[test]
fn a_record_of_nothing_but_invalid_figures_says_so_and_gives_no_advice() {
    let mut record = costly_and_cheap();
    for session in &mut record.sessions {
        session.caveats.push(Caveat::LateSchedule.id().to_owned());
    }
    let text = answer(&record, PLAIN);
    assert_eq!(text.matches("no answer").count(), 3, "{text}");
    assert!(!text.contains("# "), "nothing to type: {text}");
    let table = text.lines().find(|line| line.starts_with("delete-stall")).unwrap();
    assert_eq!(table.matches("INVALID").count(), 3, "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(Caveat::LateSchedule.advice()), "{text}");
    let numbers = table.chars().any(|letter| letter.is_ascii_digit());
    assert!(!numbers, "an invalid figure is not shown: {table}");
}

#[test]
fn the_line_to_type_names_the_filesystem_that_was_measured() {
    let mut record = costly_and_cheap();
    record.sessions.drain(..2);
    record.plan.drain(..2);
    let session = &mut record.sessions[0];
    session.target.kind = "directory".to_owned();
    session.target.identity.insert("filesystem".to_owned(), "xfs".to_owned());
    let line = |place: &str| {
        format!("in /etc/fstab: UUID=FILESYSTEM-UUID {place} xfs EXISTING-OPTIONS,discard 0 0")
    };
    for (place, typed) in [
        ("/mnt/my-disk", "/mnt/my-disk"),
        // Quoted otherwise by a shell than in fstab, or not a path.
        ("/mnt/my disk", "/MOUNTPOINT"),
        ("/mnt/$(reboot)", "/MOUNTPOINT"),
        ("/mnt/a\nreboot", "/MOUNTPOINT"),
        ("-a", "/MOUNTPOINT"),
    ] {
        let before = &mut record.sessions[0].environment_before;
        before.insert("mount-point".to_owned(), place.to_owned());
        let text = answer(&record, Style { width: 120, ..PLAIN });
        assert!(text.contains(&line(typed)) && !text.contains("ext4"), "{text}");
        assert!(!text.contains("reboot"), "{text}");
    }
}

#[test]
fn each_line_has_its_check_and_what_is_right_is_kept() {
    let mut record = costly_and_cheap();
    record.sessions.drain(..2);
    record.plan.drain(..2);
    let wide = Style { width: 120, ..PLAIN };
    let template = answer(&record, wide);
    assert!(template.contains("template, for a filesystem of yours:"), "{template}");
    record.sessions[0].target.kind = "directory".to_owned();
    let mut mounted = |options: &str| {
        let facts = [
            ("filesystem", "xfs"),
            ("mount-point", "/srv"),
            ("mount-options", options),
            ("filesystem-uuid", "c0ffee00-1111"),
        ];
        let facts = facts.map(|(key, value)| (key.to_owned(), value.to_owned()));
        record.sessions[0].environment_before = facts.into();
        (answer(&record, wide), full(&record, wide))
    };
    let (short, whole) = mounted("rw,noatime,inode64");
    for text in [&short, &whole] {
        for part in [
            "in /etc/fstab: UUID=c0ffee00-1111 /srv xfs noatime,discard 0 0",
            "shows its effect: `findmnt --verify`",
            "# umount /srv",
            "# mount /srv",
            "shows its effect: `findmnt -no OPTIONS /srv`",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("template") && !text.contains("yours to replace"), "{text}");
    }
    for text in <[String; 2]>::from(mounted("rw,noatime,discard")) {
        assert!(text.contains("already on: keep it (`/srv` is mounted with `discard`)"), "{text}");
        assert!(!text.contains("/etc/fstab") && !text.contains("shows its effect"), "{text}");
    }
}

/// Two drives on which a deletion is noticed, and one on which it is not.
fn costly_and_cheap() -> RunRecord {
    let judged = |name: &str, tail: f64, stutter: f64| {
        let mut session = session(name, stutter, [stutter * 0.9, stutter * 1.1]);
        session.figures.truncate(2);
        session.figures[1].role = Some(Role::StutterPerGb);
        for (id, role, value) in
            [("tail", Role::TailAfterDeletion, tail), ("tail-placebo", Role::TailAfterPlacebo, 0.1)]
        {
            let mut figure = figure(id, id, value, "ms");
            figure.role = Some(role);
            session.figures.push(figure);
        }
        // TRIM restores speed, so that an answer is firm.
        let speeds =
            [("fragmented", Role::FragmentedSpeed, 0.3), ("back", Role::RecoveredSpeed, 1.0)];
        for (id, role, value) in speeds {
            let mut figure = figure(id, id, value, "");
            figure.role = Some(role);
            session.figures.push(figure);
        }
        session
    };
    let sessions = vec![
        judged("vendor2", 120.0, 0.4),
        judged("vendor3", 90.0, 0.3),
        judged("like-optane-900p", 0.2, 0.001),
    ];
    record(sessions, Outcome::Complete)
}

#[test]
fn no_line_is_wider_than_asked_whatever_the_record_holds() {
    let mut long = three_drives();
    let session = &mut long.sessions[0];
    session.target.name = "/srv/".to_owned() + &"directory".repeat(30);
    session.plan.target.clone_from(&session.target.name);
    session.state = "word ".repeat(100);
    session.target.identity.insert("model".to_owned(), "M".repeat(200));
    session.figures[1].title = "T".repeat(120);
    session.figures[1].verdict = Some(Verdict::Other("differs ".repeat(20)));
    session.figures[0].unit = "unit".repeat(20);
    session.figures[0].interval = Interval::new(-1.234e-300, 1.234e300, 0.95);
    session.steps[2].id = "s".repeat(150);
    change(&mut session.steps[2], |deletion| deletion.deleted_at_s = 4.98);
    session.caveats.push("from-the-future".repeat(20));
    long.program.commit = "c".repeat(100);
    long.outcome = Outcome::Failed { message: "gone ".repeat(50) };
    for width in [0, 40, 50, 64, 72, 80, 100, 132, 1_000] {
        for (colour, unicode) in [(false, false), (true, true)] {
            let style = Style { width, colour, unicode };
            for record in [&long, &four_drives()] {
                for text in [full(record, style), answer(record, style)] {
                    assert!(widest(&text) <= width.max(40), "{width}: {}\n{text}", widest(&text));
                }
            }
        }
    }
}

#[test]
fn colour_and_unicode_add_nothing_but_looks() {
    let coloured = full(&three_drives(), Style { colour: true, ..PLAIN });
    assert!(coloured.contains("\u{1b}[1;31m"));
    assert_eq!(uncoloured(&coloured), full(&three_drives(), PLAIN));
    assert!(!full(&three_drives(), PLAIN).contains('\u{1b}'));
    assert!(full(&three_drives(), ASCII).is_ascii());
}

#[test]
fn the_first_lines_say_seed_commit_and_outcome() {
    let first = |outcome: Outcome| {
        let mut record = three_drives();
        record.sessions[2].finished = false;
        record.outcome = outcome;
        full(&record, PLAIN).lines().take(2).collect::<Vec<_>>().join("\n")
    };
    let text = first(Outcome::Complete);
    assert!(text.starts_with("seed 42, commit abc1234, trimbench 0.0.0, model version 1\n"));
    assert!(text.ends_with("\ncomplete; 2 of 3 sessions finished"), "{text}");
    assert!(first(Outcome::Interrupted).ends_with("\ninterrupted; 2 of 3 sessions finished"));
    assert!(first(Outcome::Running).contains("\nnot ended: still running, or cut off"));
    let failed = first(Outcome::Failed { message: "no space".to_owned() });
    assert!(failed.ends_with("\nfailed: no space; 2 of 3 sessions finished"));
}

#[test]
fn headlines_are_sorted_with_virtual_and_wall_time_apart() {
    let mut record = three_drives();
    let mut real = session("/srv/data", 0.01, [-0.01, 0.03]);
    real.target.clock = "wall".to_owned();
    real.target.kind = "directory".to_owned();
    real.target.provenance = None;
    record.sessions.insert(0, real);
    let text = full(&record, PLAIN);
    let wall = position(&text, "stutter per GB deleted, wall time");
    let virtual_time = position(&text, "stutter per GB deleted, virtual time");
    let best = position(&text, "\nlike-optane-900p");
    let middle = position(&text, "\ngeneric-nvme-tlc");
    let worst = position(&text, "\nvendor2");
    assert!(wall < virtual_time, "groups stand in the order of their sessions");
    assert!(virtual_time < best && best < middle && middle < worst);
    assert!(text.contains("0.010  -0.010 to 0.030  noise"), "{text}");
    assert!(text.contains("target      /srv/data (directory)\n"));
    assert!(text.contains("time        wall time\n"));
}

#[test]
fn zero_is_printed_as_three_zeros_and_has_no_bar() {
    let text = full(&three_drives(), ASCII);
    let line = text.lines().find(|line| line.starts_with("like-optane-900p")).unwrap();
    assert!(line.contains(" 0.000 ") && line.contains("0.000 to 0.000") && !line.contains('#'));
    let longest = text.lines().find(|line| line.starts_with("vendor2")).unwrap();
    assert!(longest.contains(&"#".repeat(8)));
}

#[test]
fn an_interval_that_holds_zero_says_so_where_the_record_is_silent() {
    let mut record = three_drives();
    let figures = &mut record.sessions[0].figures;
    figures.clear();
    let mut unjudged = figure("a", "unjudged", 1.0, "ms");
    unjudged.interval = Interval::new(-1.0, 3.0, 0.95);
    let mut judged = unjudged.clone();
    (judged.title, judged.verdict) =
        ("judged".to_owned(), Some(Verdict::Other("no word".to_owned())));
    let mut clear = unjudged.clone();
    (clear.title, clear.interval) = ("clear".to_owned(), Interval::new(0.5, 3.0, 0.9));
    figures.extend([unjudged, judged, clear]);
    let text = full(&record, Style { width: 120, ..PLAIN });
    let line = |title: &str| text.lines().find(|line| line.starts_with(title)).unwrap();
    assert!(line("unjudged").contains("-1.0 to 3.0 (95 %)"), "levels differ: {}", line("unjudged"));
    assert!(line("unjudged").ends_with("holds 0"));
    assert!(line("judged").ends_with("no word"));
    assert!(line("clear").contains("0.5 to 3.0 (90 %)") && !line("clear").contains("holds"));
}

#[test]
fn a_caveat_names_a_session_once_and_a_row_of_a_table_as_a_whole() {
    let mut record = three_drives();
    let figures = &mut record.sessions[0].figures;
    figures.clear();
    for (measure, under) in [("a", "ext4"), ("b", "ext4"), ("a", "xfs"), ("b", "xfs")] {
        let place = Coordinates::of_measure(measure, measure).at(MetricAxis::System, under);
        let mut figure = placed(&place.to_string(), place, 1.0, "ms");
        figure.title = format!("{measure}, under {under}");
        // Of `xfs` one of two.
        if (measure, under) != ("b", "xfs") {
            figure.caveat(Caveat::OtherLoad);
        }
        figures.push(figure);
    }
    let text = full(&record, Style { width: 200, ..PLAIN });
    let list = text.lines().find(|line| line.contains("under ext4;")).unwrap();
    let whole = "vendor2: all figures under ext4; a, under xfs";
    assert!(list.ends_with(whole), "{list}");
}

#[test]
fn every_caveat_is_listed_once_with_its_advice_and_what_it_touches() {
    let mut record = three_drives();
    record.sessions[1].steps[0].caveat(Caveat::OtherLoad);
    record.sessions[1].steps[1].caveat(Caveat::OtherLoad);
    record.sessions[2].caveats.push("from-the-future".to_owned());
    let text = full(&record, PLAIN);
    let list = &text[position(&text, "\nCaveats ")..];
    for caveat in [Caveat::Emulated, Caveat::WindowTooShort, Caveat::OtherLoad] {
        assert_eq!(list.matches(&format!("{}: ", caveat.id())).count(), 1, "{list}");
        assert!(list.contains(caveat.advice()));
    }
    assert!(list.contains("on: all sessions"));
    assert!(list.contains("INVALID, window-too-short: "));
    assert!(list.contains("on: delete-stall on vendor2: worst response;"));
    assert!(list.contains("like-optane-900p: 2 steps, the first is placebo-0"));
    assert!(list.contains("from-the-future: not known to this version"));
    // The mark beside the number is the number in the list.
    let worst = text.lines().find(|line| line.starts_with("worst response")).unwrap();
    assert!(worst.ends_with(" note 2") && list.contains("\n 2  INVALID, window-too-short"));
}

#[test]
fn an_invalid_run_says_so_at_the_top_and_a_valid_one_nowhere() {
    let mut record = three_drives();
    assert!(full(&record, PLAIN).lines().nth(2).unwrap().starts_with("INVALID"));
    for session in &mut record.sessions {
        session.figures.pop();
    }
    assert!(!full(&record, PLAIN).contains("INVALID"));
}

#[test]
fn a_record_of_nothing_still_says_what_it_is() {
    let text = full(&record(Vec::new(), Outcome::Running), PLAIN);
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.contains("0 of 0 sessions finished"));
}

#[test]
fn an_interrupted_run_shows_what_there_is_and_what_is_missing() {
    let mut record = three_drives();
    record.outcome = Outcome::Interrupted;
    record.sessions.pop();
    record.sessions[1].finished = false;
    record.sessions[1].figures.clear();
    record.sessions[1].steps.clear();
    let text = full(&record, PLAIN);
    assert!(text.contains("interrupted; 1 of 3 sessions finished"));
    assert!(text.contains("\nno headline  delete-stall on sim:like-optane-900p\n"));
    assert!(text.contains("\nnot begun    delete-stall on sim:generic-nvme-tlc\n"));
    assert!(text.contains("not finished: what follows is only as far as it got"));
    assert!(text.contains("no figures were computed"));
    assert!(text.contains("steps       none\n"));
    assert!(text.contains("\nvendor2 "));
}

#[test]
fn the_picture_is_of_the_largest_deletion_with_its_moment_marked() {
    let text = full(&three_drives(), PLAIN);
    assert!(text.contains("Response time in step delete-4e9-0"));
    assert!(!text.contains("Response time in step delete-1e9-0"));
    let lines: Vec<&str> =
        text.lines().skip_while(|line| !line.starts_with("Response time in")).collect();
    let mark = lines.iter().position(|line| line.contains("4GB deleted at 1 s")).unwrap();
    // The arrow stands below the column in which the stall begins.
    let arrow = lines[mark].chars().position(|c| c == '\u{25b2}').unwrap();
    let top = lines[mark - 9].chars().position(|c| c == '\u{2588}').unwrap();
    assert_eq!(arrow, top);
    assert!(lines[mark - 9].starts_with("1.20 s "));

    let mut placebo_only = three_drives();
    for step in &mut placebo_only.sessions[0].steps[1..] {
        change(step, |deletion| deletion.size_bytes = Bytes(0));
    }
    assert!(full(&placebo_only, PLAIN).contains("0B deleted at 1 s"));
    assert!(full(&placebo_only, PLAIN).contains("Response time in step delete-1e9-0"));

    let mut without = three_drives();
    for step in &mut without.sessions[0].steps {
        step.parameters.remove("deleted_at_s");
    }
    assert_eq!(full(&without, PLAIN).matches("Response time in step").count(), 2);
}

#[test]
fn a_record_cannot_send_control_characters_to_the_terminal() {
    let mut record = three_drives();
    let evil = "\u{1b}[2J\u{7}\n\u{9b}x";
    let session = &mut record.sessions[0];
    session.target.name = evil.to_owned();
    session.plan.target = evil.to_owned();
    session.state = evil.to_owned();
    session.caveats.push(evil.to_owned());
    session.steps[2].id = evil.to_owned();
    session.trace_hash = Some(evil.to_owned());
    session.target.identity.insert(evil.to_owned(), evil.to_owned());
    let headline = session.figures.iter_mut().find(|figure| figure.headline).unwrap();
    headline.title = evil.to_owned();
    headline.verdict = Some(Verdict::Other(evil.to_owned()));
    headline.unit = evil.to_owned();
    session.steps[2].kind = evil.to_owned();
    let series = session.steps[2].series.values_mut().next().unwrap();
    (series.x_unit, series.y_unit) = (evil.to_owned(), evil.to_owned());
    record.outcome = Outcome::Failed { message: evil.to_owned() };
    record.program.commit = evil.to_owned();
    for detail in [Detail::Answer { place: "RUN" }, Detail::Full] {
        let text = terminal(&record, detail, PLAIN);
        let control = |line: &&str| line.chars().any(char::is_control);
        let bad: Vec<&str> = text.lines().filter(control).collect();
        assert!(bad.is_empty(), "{bad:?}");
        assert!(terminal(&record, detail, ASCII).is_ascii());
    }
}

/// The value with this appended to every text in it, keys of maps included where they are free.
fn tainted(value: serde_json::Value, taint: &str) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::String(text) => Value::String(text + taint),
        Value::Array(values) => values.into_iter().map(|value| tainted(value, taint)).collect(),
        Value::Object(map) => {
            map.into_iter().map(|(key, value)| (key, tainted(value, taint))).collect()
        }
        other => other,
    }
}

#[test]
fn no_text_of_a_record_does_anything_to_the_terminal() {
    let taint = "\u{1b}]0;x\u{7}\u{9b}31m\u{202e}\r\n";
    let mut record = three_drives();
    detail(&mut record.sessions[0]);
    let mut json = serde_json::to_value(&record).unwrap();
    for part in ["program", "plan", "sessions"] {
        json[part] = tainted(json[part].take(), taint);
    }
    for session in json["sessions"].as_array_mut().unwrap() {
        for figure in session["figures"].as_array_mut().unwrap() {
            figure["direction"] = serde_json::json!("lower");
            figure["verdict"] = serde_json::json!(format!("noise{taint}"));
        }
        let named = session["target"]["identity"].as_object_mut().unwrap();
        named.insert(format!("key{taint}"), serde_json::json!("value"));
    }
    let mut record: RunRecord = serde_json::from_value(json).unwrap();
    record.outcome = Outcome::Failed { message: taint.to_owned() };
    for (detail, style) in
        [Detail::Full, Detail::Answer { place: "RUN" }].into_iter().zip([PLAIN, ASCII])
    {
        let text = terminal(&record, detail, style);
        let hidden = |letter| letter != '\n' && trimbench_core::text::is_hidden(letter);
        let line = text.lines().find(|line| line.contains(hidden));
        assert_eq!(line, None, "{text}");
    }
}

/// Tables of drives show a figure as its own table does: drives of other orders have other units.
#[test]
fn a_figure_has_one_unit_and_rounding_in_every_table() {
    let mut record = three_drives();
    for (session, value) in record.sessions.iter_mut().zip([0.000_013, 0.479, 1.0]) {
        session.figures.retain(|figure| figure.headline);
        session.figures[0] = figure("longest", "longest", value, "s");
        session.figures[0].headline = true;
    }
    let text = full(&record, Style { width: 120, ..PLAIN });
    for shown in ["13 us", "479 ms", "1 s"] {
        assert_eq!(text.matches(&format!(" {shown} ")).count(), 2, "{shown}: {text}");
    }
}
