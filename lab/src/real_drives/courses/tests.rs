use super::{
    COURSES, CourseRun, DRIVES, DriveCourse, FigureStanding, furthest_of, judged, rows, steady,
};

fn all() -> Vec<DriveCourse> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../");
    rows(&std::fs::read_to_string(format!("{root}{COURSES}")).unwrap(), DriveCourse::read).unwrap()
}

/// What does not hold of a drive where each of its courses is off by this logarithm of a factor,
/// and the write amplification by this factor.
fn missed(drive: usize, off: impl Fn(&DriveCourse) -> f64, worn: f64) -> Vec<String> {
    let all = all();
    let runs: Vec<CourseRun<'_>> = all
        .iter()
        .map(|course| CourseRun {
            course,
            logs: vec![off(course); course.tenths.len()],
            other: None,
            amplification: Some(course.amplification.unwrap_or(1.0) * worn),
        })
        .collect();
    let figures = judged(&DRIVES[drive], &runs).into_iter();
    figures.filter(|figure| !figure.holds()).map(|figure| figure.what).collect()
}

#[test]
fn courses_within_the_bar_hold_and_others_do_not() {
    for (drive, bar) in DRIVES.iter().enumerate() {
        let of = |off: f64| move |it: &DriveCourse| if it.fitted { 0.0 } else { off };
        assert!(missed(drive, of(bar.most - 0.001), 1.0).is_empty());
        let found = missed(drive, of(bar.most + 0.001), 1.0);
        assert_eq!(found, [format!("{}: the worst course that is predicted", bar.drive)]);
        // The one that differs by campaign gets a factor of what its fitted rows are off.
        let all_off = if bar.by_campaign { 0 } else { 2 };
        assert_eq!(missed(drive, |_| 1.0, 1.0).len(), all_off, "{}", bar.drive);
        let counted =
            usize::from(all().iter().any(|it| it.drive == bar.drive && it.amplification.is_some()));
        assert_eq!(missed(drive, |_| 0.0, 0.979).len(), counted, "{}", bar.drive);
        assert!(missed(drive, |_| 0.0, 1.019).is_empty());
    }
    assert!(furthest_of("none is counted", 1.0, Vec::new()).is_none());
}

#[test]
fn a_course_says_the_speed_of_its_last_fifth() {
    let tenths = [900.0, 100.0, 100.0, 100.0, 200.0, 100.0, 100.0, 100.0, 100.0, 200.0];
    let logs = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.1_f64.ln(), 0.9_f64.ln()];
    let called = ("wd-dc-960", "uniform".to_owned());
    let told = steady(called, FigureStanding::Fitted, (&tenths, &logs)).both_told();
    assert_eq!(told, "ours 145 IOPS when steady, real 150 IOPS when steady");
}

#[test]
fn each_drive_has_courses_of_both_kinds() {
    let all = all();
    for bar in &DRIVES {
        let of = || all.iter().filter(|course| course.drive == bar.drive);
        assert!(of().any(|it| it.fitted) && of().filter(|it| !it.fitted).count() > 3);
    }
    assert!(all.iter().all(|course| course.bar().is_ok()));
    assert!(DriveCourse::read("a,b").is_err());
}
