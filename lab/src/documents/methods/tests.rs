use super::*;

#[test]
fn the_table_of_options_is_written_and_nothing_else() {
    let info = &trimbench_methods::METHODS[0];
    let page = format!("# Page\n\n{HEAD} gone |\n| `old` | 1 | gone |\n\n## Output\n");
    let written = with_options(&page, info).unwrap();
    assert!(written.starts_with("# Page\n\n| key |") && written.ends_with(" |\n\n## Output\n"));
    assert!(!written.contains("`old`"));
    for option in (info.options)() {
        let row = format!("\n| `{}` | {} | ", option.key, option.presets().join(" | "));
        assert!(written.contains(&row), "{row}");
    }
    assert_eq!(with_options(&written, info).unwrap(), written);
    assert!(with_options("# Page\n", info).is_err());
}
