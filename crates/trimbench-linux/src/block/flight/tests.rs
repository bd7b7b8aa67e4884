use super::*;

const MIB: u64 = 1 << 20;

fn flight(kind: Kind, length: u64) -> Flight {
    Flight { kind, length, ..Flight::NONE }
}

#[test]
fn a_large_transfer_goes_in_pieces_and_a_discard_in_one() {
    let mut read = flight(Kind::Read, 9 * MIB);
    let mut pieces = Vec::new();
    loop {
        let piece = read.piece();
        pieces.push(piece / MIB);
        if read.advance(Ok(piece), 512) == Some(Status::Done) {
            break;
        }
    }
    assert_eq!(pieces, [4, 4, 1]);
    let mut discard = flight(Kind::Discard, 9 * MIB);
    assert_eq!(discard.piece(), 9 * MIB);
    assert_eq!(discard.advance(Ok(0), 512), Some(Status::Done));
}

#[test]
fn a_short_transfer_goes_on_at_a_whole_block() {
    for kind in [Kind::Read, Kind::Write(Data::Random)] {
        let mut short = flight(kind, 8192);
        assert_eq!(short.advance(Ok(5000), 4096), None);
        assert_eq!((short.moved, short.piece()), (4096, 4096));
        assert_eq!(short.advance(Ok(4096), 4096), Some(Status::Done));
    }
}

#[test]
fn what_moves_nothing_is_an_error_and_never_repeated_for_ever() {
    for (kind, errno) in [(Kind::Read, libc::ENODATA), (Kind::Write(Data::Random), libc::EIO)] {
        let failed = Some(Status::Failed(Errno(errno)));
        assert_eq!(flight(kind, 8192).advance(Ok(0), 512), failed);
        assert_eq!(flight(kind, 8192).advance(Ok(511), 512), failed);
    }
    for kind in [Kind::Read, Kind::Discard, Kind::Flush] {
        let mut again = flight(kind, 8192);
        let errno = Errno(libc::EAGAIN);
        let tries = (0..1000).take_while(|_| again.advance(Err(errno), 512).is_none()).count();
        assert_eq!(tries, 100);
        assert_eq!(again.advance(Err(errno), 512), Some(Status::Failed(errno)));
    }
    let io = Errno::EIO;
    assert_eq!(flight(Kind::Read, 1).advance(Err(io), 512), Some(Status::Failed(io)));
}
