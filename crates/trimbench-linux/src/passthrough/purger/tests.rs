use super::*;

#[test]
fn every_choice_is_known_by_its_name() {
    let means = ReportedPurge::all().map(PurgeChoice::Means);
    for choice in [PurgeChoice::Auto, PurgeChoice::Trim].into_iter().chain(means) {
        assert_eq!(choice.to_string().parse(), Ok(choice));
    }
    let error = "format".parse::<PurgeChoice>().unwrap_err().to_string();
    assert!(error.contains("`format`") && error.contains("nvme-format-user-data-erase"), "{error}");
}

#[test]
fn overwriting_is_never_chosen_by_itself() {
    let overwrites = [ReportedPurge::NvmeSanitizeOverwrite, ReportedPurge::AtaSanitizeOverwrite];
    assert!(overwrites.iter().all(|means| !PREFERRED.contains(means)));
    assert_eq!(PREFERRED.len() + overwrites.len(), ReportedPurge::all().count());
}

#[test]
fn a_means_that_is_missing_or_stood_against_is_not_used() {
    let means = ReportedPurge::AtaSecurityErase;
    let free = PurgeOption { means, estimate: None, obstacle: None };
    let frozen = PurgeOption {
        obstacle: Some(crate::passthrough::error::PurgeObstacle::SecurityFrozen),
        ..free.clone()
    };
    assert!(usable(&[free], means).is_ok());
    assert!(usable(&[frozen], means).unwrap_err().to_string().contains("froze"));
    let error = usable(&[], means).unwrap_err().to_string();
    assert!(error.contains("no `ata-security-erase`") && error.contains("it has: none"), "{error}");
}

#[test]
fn what_is_no_drive_has_no_purge_of_its_own() {
    let file = tempfile::tempfile().unwrap();
    for choice in [PurgeChoice::Auto, PurgeChoice::Trim] {
        let error = DrivePurger::new(file.as_fd(), choice).unwrap_err().to_string();
        assert!(error.contains("no device node"), "{error}");
    }
}
