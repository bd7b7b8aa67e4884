use super::{Parameters, Printed, parameters, parse};

const LINE: &str = "VAR=1 SEL=0 PF=32 TIMING=1 THP=1  4 GiB OP=7% Np=1024 NB=1099 | \
    seqfill 212.11 Mw/s | warm 0.1s | steady 24.83 Mhost/s (cpu 24.90) WA=7.7294  \
    191.92 Mflash/s  ns/host=40.3 ns/flash=5.2 | virt 1.0s 38421 IOPS virt, real/virt 0.002 \
    p50 6.0us p99.9 831.5us | trim(random-written) 112.1 Mpg/s retrim 3012 Mpg/s | RSS 11 MiB\n";

#[test]
fn speed_and_amplification_are_read() {
    let printed = Printed { host_writes: 24.90, write_amplification: 7.7294 };
    assert_eq!(parse(LINE).unwrap(), printed);
}

#[test]
fn output_that_was_cut_off_or_is_another_is_an_error() {
    let cut = &LINE[..LINE.find("WA=").unwrap()];
    assert!(parse(cut).unwrap_err().to_string().contains("amplification"));
    assert!(parse("").is_err());
    assert!(parse(&LINE.replace("Mhost/s", "khost/s")).is_err());
    assert!(parse(&LINE.replace("(cpu 24.90) ", "")).is_err());
    assert!(parse(&LINE.replace("24.90)", "nothing)")).is_err());
}

#[test]
fn both_over_provisionings_are_measured_at_either_size() {
    let names = parameters(true).map(|drives| drives.map(Parameters::name));
    let of_7 = ["4 GiB, OP 7 %", "4 GiB, all but hot, 7 % OP", "4 GiB, all on, 7 % OP"];
    let of_28 = ["4 GiB, OP 28 %", "4 GiB, all but hot, 28 % OP", "4 GiB, all on, 28 % OP"];
    assert_eq!(names, [of_7, of_28]);
    for drives in parameters(false) {
        assert_eq!(drives[0].arguments(), drives[2].arguments(), "they have one peer");
    }
    assert_eq!(parameters(false)[0][0].arguments(), ["256", "7", "4096", "3"]);
}

#[test]
fn a_case_is_chosen_by_any_part_of_its_name() {
    let chosen = |case| {
        let drives = parameters(false).into_iter().flatten();
        let all = drives.flat_map(|it| it.parts().iter().map(move |part| (it, part)));
        let wanted = all.filter(|(it, part)| part.is_wanted(*it, case));
        wanted.map(|(it, part)| part.of(it)).collect::<Vec<_>>()
    };
    assert_eq!(chosen(None).len(), 14);
    assert_eq!(chosen(Some("OP 7 %")).len(), 4);
    assert_eq!(chosen(Some("GiB, OP")).len(), 8);
    assert_eq!(
        chosen(Some("TRIM")),
        ["256 GiB, OP 7 %, TRIM of all", "256 GiB, OP 28 %, TRIM of all"]
    );
    assert_eq!(chosen(Some("all on, 7 %")).len(), 2);
    let one = "256 GiB, OP 28 %, through the contract";
    assert_eq!(chosen(Some(one)), [one]);
    assert_eq!(chosen(Some("4 KiB")), Vec::<String>::new());
}
