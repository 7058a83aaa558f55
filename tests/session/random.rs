//! Whatever happens to the bytes of a session file, opening it does not fail badly, and intact lines count.

use crystal::session::store::record::Record;
use crystal::session::store::{Store, load, read};
use proptest::prelude::*;

use crate::session::desk::{Desk, assistant, call, result, turn_end, turn_start, user};

fn records() -> Vec<Record> {
    let mut records = vec![turn_start(1, "été")];
    for n in 0..6 {
        records.push(user(&format!("i{n}1"), "über\n\"quoted\""));
        records.push(assistant(&format!("i{n}2"), "answer", &format!("r{n}")));
        records.push(call(&format!("i{n}3"), &format!("c0000000{n}"), &format!("r{n}")));
        records.push(result(&format!("i{n}4"), &format!("c0000000{n}"), "text"));
    }
    records.push(turn_end(1));
    records
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_file_cut_anywhere_keeps_all_whole_lines(cut in 0_usize..10_000) {
        let desk = Desk::new();
        let path = desk.session(&records());
        let whole = std::fs::read(&path).unwrap();
        let cut = cut % whole.len();
        std::fs::write(&path, &whole[..cut]).unwrap();
        let lines = whole[..cut].iter().filter(|byte| **byte == b'\n').count();
        match Store::open(&path) {
            Ok((store, _)) => {
                store.append(&user("i99", "hi")).unwrap();
                drop(store);
                let mut found = 0;
                read::records::<crystal::session::store::error::StoreError>(&path, |_, _| {
                    found += 1;
                    Ok(read::Next::More)
                }).unwrap();
                prop_assert!(found > lines, "{} of {}", found, lines);
                prop_assert!(load::read(&path).unwrap().notices.is_empty());
            }
            Err(error) => prop_assert!(lines == 0, "{}", error),
        }
    }

    #[test]
    fn bytes_changed_anywhere_cost_only_the_lines_they_are_in(
        changes in prop::collection::vec((0_usize..10_000, any::<u8>()), 1..6)
    ) {
        let desk = Desk::new();
        let path = desk.session(&records());
        let mut bytes = std::fs::read(&path).unwrap();
        let header = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let lines = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>();
        let before = lines(&bytes);
        let len = bytes.len();
        for (at, byte) in changes {
            bytes[header + at % (len - header)] = byte;
        }
        std::fs::write(&path, &bytes).unwrap();
        let intact = lines(&bytes).iter().filter(|line| !line.is_empty() && before.contains(line)).count();
        let mut found = 0;
        read::records::<crystal::session::store::error::StoreError>(&path, |_, _| {
            found += 1;
            Ok(read::Next::More)
        }).unwrap();
        // A last line that lost its newline is not counted by a reader.
        prop_assert!(found + 1 >= intact, "{} of {}", found, intact);
        let (store, _) = Store::open(&path).unwrap();
        store.append(&user("i99", "hi")).unwrap();
    }
}
