//! Each packing as its own program made it, whole, cut off and damaged.

use std::io::{Cursor, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::unpack;

const TEXT: &[u8] = b"Write 0 8\nTrim 0 8\nFlush\n";

/// Two frames, as `zstd` makes them.
const ZSTD: &str = "\
    28b52ffd04589900005772697465203020380a5472696d203020380a3fa6d3ec28b52ffd0458310000466c7573\
    680a22276902";

/// As `xz` makes it.
const XZ: &str = "\
    fd377a585a000004e6d6b4460200210116000000742fe5a30100185772697465203020380a5472696d20302038\
    0a466c7573680a000000005d92071eaa1479f700013119591ab0821fb6f37d010000000004595a";

/// Two files, written to a pipe: their lengths and checksums follow them.
const ZIP_PIPED: &str = "\
    504b03041400080008007354765d00000000000000000000000005000000612e7478740b2fca2c49553050b0e0\
    0a29cacc0533dc724a8b33b800504b07084617674a1700000019000000504b03041400080008007354765d0000\
    0000000000000000000005000000622e7478740b4a4d4c51b050b0e00200504b0708d3355ba70b000000090000\
    00504b010214031400080008007354765d4617674a170000001900000005000000000000000000000080010000\
    0000612e747874";

/// Stored as it is.
const ZIP_STORED: &str = "\
    504b03041400000000007354765d4617674a190000001900000005000000612e7478745772697465203020380a\
    5472696d203020380a466c7573680a504b01021403";

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<u8> = hexadecimal.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn unpacked(packed: &[u8]) -> Result<Vec<u8>, String> {
    let stream = unpack("file", Box::new(Cursor::new(packed.to_vec())));
    let mut stream = stream.map_err(|error| error.to_string())?;
    let mut content = Vec::new();
    stream.read_to_end(&mut content).map_err(|error| error.to_string())?;
    Ok(content)
}

/// Everything that can be unpacked, with its content.
fn packed() -> Vec<(&'static str, Vec<u8>, Vec<u8>)> {
    let both = [TEXT, b"Read 8 8\n"].concat();
    vec![
        ("plain", TEXT.to_vec(), TEXT.to_vec()),
        ("gzip", gzip(TEXT), TEXT.to_vec()),
        ("two gzip members", [gzip(TEXT), gzip(TEXT)].concat(), TEXT.repeat(2)),
        ("gzip within gzip", gzip(&gzip(TEXT)), TEXT.to_vec()),
        ("two zstd frames", bytes(ZSTD), TEXT.to_vec()),
        (
            "a skippable zstd frame",
            [bytes("502a4d180200000001ff"), bytes(ZSTD)].concat(),
            TEXT.to_vec(),
        ),
        ("xz", bytes(XZ), TEXT.to_vec()),
        ("zip, piped", bytes(ZIP_PIPED), both),
        ("zip, stored", bytes(ZIP_STORED), TEXT.to_vec()),
    ]
}

#[test]
fn what_a_trace_is_packed_in_is_taken_off() {
    for (name, packed, content) in packed() {
        assert_eq!(unpacked(&packed), Ok(content), "{name}");
    }
}

#[test]
fn what_is_cut_off_or_damaged_is_never_taken_for_whole() {
    for (name, packed, content) in packed().into_iter().skip(1) {
        for end in 6..packed.len() {
            // A cut between two members or frames leaves a whole file, and the zip's directory is
            // not needed.
            let cut = unpacked(&packed[..end]).unwrap_or_default();
            assert!(content.starts_with(&cut), "{name} cut at {end} of {}", packed.len());
        }
        for at in 0..packed.len() {
            let mut damaged = packed.clone();
            damaged[at] ^= 1 << (at % 8);
            // Names and times of files are in no checksum.
            let Ok(found) = unpacked(&damaged) else { continue };
            let known = found == content || found.starts_with(b"PK") || content.starts_with(&found);
            assert!(known || found == damaged, "{name} with byte {at} damaged: {found:?}");
        }
    }
}

#[test]
fn what_is_packed_too_often_or_needs_too_much_memory_is_refused() {
    let layers = (0..5).fold(TEXT.to_vec(), |content, _| gzip(&content));
    assert!(unpacked(&layers).unwrap_err().contains("packed more than 4 times"));
    // A frame that asks for a window of 1 GiB.
    let error = unpacked(&bytes("28b52ffd00a0010000")).unwrap_err();
    assert!(error.contains("window"), "{error}");
}
