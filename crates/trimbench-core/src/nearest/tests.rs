use super::*;

#[test]
fn typing_errors_find_their_name_and_other_words_do_not() {
    let known = ["sizes", "window", "repetitions"];
    assert_eq!(nearest("sizse", known), Some("sizes"));
    assert_eq!(nearest("repetition", known), Some("repetitions"));
    assert_eq!(nearest("colour", known), None);
}

#[test]
fn names_are_sorted_by_likeness_and_none_is_left_out() {
    let known = ["sizes", "window", "repetitions", "window-share"];
    assert_eq!(by_likeness("windw", known), ["window", "window-share", "sizes", "repetitions"]);
    assert_eq!(by_likeness("qqq", ["b", "a"]), ["b", "a"], "else in their order");
}

#[test]
fn a_former_name_means_the_present_one_however_unlike_it_is() {
    let (former, known) = ([("online", "ext4-4.13")], ["ext4-4.13", "none", "inline"]);
    assert_eq!(meant("online", &former, known), Some("ext4-4.13"));
    assert_eq!(meant("onlin", &former, known), Some("inline"));
    assert_eq!(meant("weekly", &former, known), None);
}
