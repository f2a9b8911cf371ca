//! Runs the cases of `tests/doors/cases.json` that search a store through the functions of
//! `fpstore.h`. `crates/cli/tests/doors` and a Python test run the cases of other interfaces.

use std::ffi::{CString, c_char};
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr::null;

use fpstore::{Builder, Fingerprint};
use fpstore_capi::*;
use serde_json::{Value, json};

const MESSAGE_LEN: usize = 256;

/// Calls a function that fills `T`. Returns the filled value, or the text of the error.
fn call<T>(act: impl FnOnce(*mut T, *mut c_char) -> i32) -> Result<T, String> {
    let (mut out, mut message) = (MaybeUninit::<T>::zeroed(), [0_u8; MESSAGE_LEN]);
    let status = act(out.as_mut_ptr(), message.as_mut_ptr().cast());
    let text = message.iter().take_while(|byte| **byte != 0).copied().collect();
    match status {
        // SAFETY: `out` was all zero, which is a valid value of the C structs and pointers.
        0 => Ok(unsafe { out.assume_init() }),
        _ => Err(String::from_utf8(text).unwrap()),
    }
}

fn matches(answer: &FpsAnswer) -> Value {
    // SAFETY: if `len` is not 0, `hits` points to `len` hits, valid until the next search.
    let slice = |len: usize| {
        if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(answer.hits, len) } }
    };
    let id = |at: u64| {
        // SAFETY: `at` is an index of a hit's ids, which are in the array `ids`.
        let id = unsafe { &*answer.ids.add(at as usize) };
        if id.text.is_null() {
            return id.number.to_string();
        }
        // SAFETY: `text` is not NULL, so it points to `len` bytes.
        let text = unsafe { std::slice::from_raw_parts(id.text.cast(), id.len) };
        String::from_utf8(text.to_vec()).unwrap()
    };
    let row = |hit: &FpsHit| {
        let ids: Vec<String> =
            (hit.first_id..hit.first_id + u64::from(hit.id_count)).map(id).collect();
        let fingerprint = format!("{:016x}", hit.fingerprint);
        json!({ "fingerprint": fingerprint, "distance": hit.distance, "ids": ids })
    };
    slice(answer.hit_count).iter().map(row).collect()
}

fn answer(path: &Path, case: &Value) -> Result<Value, String> {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: all pointers are to live values, and no handle is used after it was freed.
    unsafe {
        let store = call(|out, text| fps_open(path.as_ptr(), null(), out, text, MESSAGE_LEN))?;
        let searcher = call(|out, text| fps_searcher_new(store, out, text, MESSAGE_LEN))?;
        let info: FpsInfo = call(|out, text| fps_get_info(store, out, text, MESSAGE_LEN))?;
        let options = &case["options"];
        let number = |name: &str, default: u64| options[name].as_u64().unwrap_or(default);
        let found = match case["operation"].as_str().unwrap() {
            "query" => {
                let nearest = options["nearest"].as_u64();
                let text = options["fingerprint"].as_str().unwrap();
                let needle: Fingerprint = text.parse().map_err(|error| format!("{error}"))?;
                let k = if nearest.is_some() { 64 } else { info.tuned_k.into() };
                let query = FpsQuery {
                    needle: needle.value(),
                    k: u32::try_from(number("k", k)).unwrap_or(u32::MAX),
                    max_ids: u32::MAX,
                    limit: number("limit", 0),
                    ..FpsQuery::default()
                };
                call(|out, text| match nearest {
                    None => fps_search(searcher, &query, out, text, MESSAGE_LEN),
                    Some(count) => {
                        fps_nearest(searcher, &query, count as usize, out, text, MESSAGE_LEN)
                    }
                })
                .map(|answer| matches(&answer))
            }
            "find" => {
                let find = |id: &Value| {
                    let id = id.as_str().unwrap();
                    let found = call(|out, text| {
                        fps_find_id(searcher, id.as_ptr().cast(), id.len(), out, text, MESSAGE_LEN)
                    })?;
                    let hits = matches(&found);
                    Ok::<Value, String>(
                        hits.as_array()
                            .unwrap()
                            .iter()
                            .map(|hit| hit["fingerprint"].clone())
                            .collect(),
                    )
                };
                options["ids"].as_array().unwrap().iter().map(find).collect()
            }
            _ => {
                let all = json!({
                    "fingerprints": info.fingerprint_count, "ids": info.id_count,
                    "tuned_k": info.tuned_k, "sketch_len": info.sketch_len, "generation": info.generation,
                });
                let names = case["expected"].as_object().unwrap().keys();
                Ok(names.map(|name| (name.clone(), all[name].clone())).collect())
            }
        };
        fps_searcher_free(searcher);
        fps_close(store);
        found
    }
}

#[test]
fn the_c_interface_answers_every_case_of_a_search() {
    let table: Value =
        serde_json::from_str(include_str!("../../../tests/doors/cases.json")).unwrap();
    let mut counts = [0, 0];
    for case in table["cases"].as_array().unwrap() {
        let Some(records) = table["stores"][case["store"].as_str().unwrap_or("")].as_array() else {
            continue;
        };
        let is_own = case["operation"] == "query"
            || case["operation"] == "find"
            || case["operation"] == "info";
        if !is_own {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.fps");
        let mut builder = Builder::new(&path).unwrap();
        for record in records {
            let fingerprint: Fingerprint = record[0].as_str().unwrap().parse().unwrap();
            match record[1].as_str().map(|id| (id, id.parse::<u64>())) {
                None => builder.push_bare(fingerprint).unwrap(),
                Some((_, Ok(number))) => builder.push(fingerprint, number).unwrap(),
                Some((text, Err(_))) => builder.push(fingerprint, text).unwrap(),
            }
        }
        builder.finish().unwrap();
        let found = answer(&path, case);
        match case["expected"] == "error" {
            true => assert!(found.is_err(), "{}", case["case"]),
            false => assert_eq!(found.as_ref(), Ok(&case["expected"]), "{}", case["case"]),
        }
        counts[usize::from(found.is_err())] += 1;
    }
    assert!(counts[0] > 10 && counts[1] > 0, "{counts:?}");
}
