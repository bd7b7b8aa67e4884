//! Lists the profiles that come with the program: every `profiles/*.toml`.
//!
//! Their order is that of `src/profile/order.txt`, and that of their names for those that are not
//! in it. So a new profile is one new file.

use std::fmt::Write as _;
use std::path::Path;

fn main() {
    // At run time: where two checkouts share a target folder, this may be the other's program.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let folder = Path::new(&package).join("../../profiles");
    println!("cargo:rerun-if-changed={}", folder.display());
    let order: Vec<&str> = include_str!("src/profile/order.txt").lines().collect();
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("list the profiles")
        .map(|entry| entry.expect("list the profiles").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| path.file_stem().expect("it has a name").to_string_lossy().into_owned())
        .collect();
    let rank = |name: &str| order.iter().position(|known| *known == name).unwrap_or(order.len());
    names.sort_by(|a, b| (rank(a), a).cmp(&(rank(b), b)));
    let mut list = String::from("[\n");
    for name in &names {
        let path = folder.join(format!("{name}.toml"));
        let path = path.to_str().expect("the path of the repository is UTF-8");
        writeln!(list, "ProfileText {{ name: {name:?}, text: include_str!({path:?}) }},")
            .expect("a string takes everything");
    }
    list.push_str("]\n");
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("profiles.rs"), list).expect("write the list");
}
