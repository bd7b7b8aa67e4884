use super::*;

fn with_formats(page: &str) -> Result<String> {
    let parts = PARTS.iter().filter(|part| part.path == TRACES);
    parts.into_iter().try_fold(page.to_owned(), |page, part| part.written(&page))
}

#[test]
fn what_was_edited_by_hand_is_written_again_and_the_rest_stays() {
    let edited = "# Formats\n\n| id | format | TRIMs | timestamps | detected by | written |\n\
        |---|---|---|---|---|---|\n| `gone` |\n\n## When a trace begins\n\nNever.\n\n\
        ## The formats\n\nNone.\n\n## One device\n\nYes.\n";
    let page = with_formats(edited).unwrap();
    assert!(!page.contains("`gone`") && !page.contains("Never.") && !page.contains("None."));
    let tencent = "| `tencent` | Tencent's block traces [OSCA20] | no | 1 s | the shape of its \
        lines | no |\n";
    assert!(page.contains(tencent), "{page}");
    assert!(page.contains("the time of day (`msr`, `alibaba`, `tencent`), the first"), "{page}");
    assert!(page.contains("\n**`midas`**: `seconds type block bytes [stream]`"), "{page}");
    assert!(page.ends_with("\n\n## One device\n\nYes.\n"), "{page}");
    assert_eq!(with_formats(&page).unwrap(), page);
    assert!(with_formats("# Formats\n").is_err());
}

#[test]
fn every_row_is_there() {
    let rows = |text: String| text.lines().count();
    assert_eq!(rows(profiles()), BUILT_IN.len());
    assert_eq!(rows(trim_modes()), TrimMode::NAMES.len());
    assert_eq!(rows(issuers()), Issuer::NAMES.len());
    assert!(issuers().contains("| `ext4-5.15` | 5.15 to 6.7 | 1 | 128MiB | "), "{}", issuers());
}
