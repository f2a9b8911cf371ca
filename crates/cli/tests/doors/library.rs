//! Runs the cases of `doors/cases.json` through the Rust library.

use std::collections::HashMap;

use fpstore::join::confirm::Confirmer;
use fpstore::join::{ClusterMethod, Fate, JoinOptions, KeepRule, clusters, dedup, document_pairs};
use fpstore::plan::{PlanRequest, SchemeEstimate};
use fpstore::rows::{PairRow, RecordRow};
use fpstore::writer::{CheckedWriter, NewRecord, Verdict};
use fpstore::{
    Answer, BuildOptions, Builder, Fingerprint, Id, IdRef, Limits, SchemeChoice, Store, Writer,
    WriterOptions,
};
use fpstore_corpus::{Cleaner, DocumentSource};
use fpstore_documents::DocumentOptions;
use fpstore_report::evaluate::{Evaluation, LabelFile};
use fpstore_text::{Comparison, TextHasher, TextRecipe};
use serde_json::{Value, json};

use super::{Found, built, fingerprint, kept_ids, left, part, word, words};
use crate::common::program::TestDir;

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn k_of(case: &Value) -> Option<u32> {
    case["options"]["k"].as_u64().map(|k| k as u32)
}

pub fn answer(dir: &TestDir, case: &Value) -> Found {
    let options = &case["options"];
    let operation = word(&case["operation"]);
    match operation {
        "compare" => return Ok(part(&compare(options)?, case)),
        "clean" => return clean(dir, case),
        "confirmed pairs" => return confirmed_pairs(dir, case),
        "plan" => return plan(case),
        _ => {}
    }
    let store = Store::open(dir.path("store.fps")).map_err(told)?;
    match operation {
        "query" => query(&store, case),
        "find" => find(&store, case),
        "records" => records(&store),
        "info" => Ok(part(&json!(store.info()), case)),
        "segment" => Ok(part(&json!(store.info().segments[0]), case)),
        "pairs" => pairs(&store, case),
        "clusters" | "keep" => grouped(&store, case),
        "build" => build(dir, &store, case),
        "check and add" => check_and_add(dir, case),
        "delete" => delete(dir, case),
        "replace" => {
            let record = |item: &Value| Ok(NewRecord::new(fingerprint(&item[0])?, id_of(item)));
            let records = case["items"].as_array().unwrap().iter().map(record);
            let records = records.collect::<Result<Vec<_>, String>>()?;
            let mut writer = Writer::open(dir.path("store.fps")).map_err(told)?;
            writer.replace(&records).map_err(told)?;
            find(writer.store(), case)
        }
        "dedup" => dedup_records(dir, &store, case),
        "evaluate" => evaluate(dir, &store, case),
        other => panic!("the library has no {other}"),
    }
}

fn query(store: &Store, case: &Value) -> Found {
    let options = &case["options"];
    let needle = fingerprint(&options["fingerprint"])?;
    let mut searcher = store.searcher();
    let answer = match options["nearest"].as_u64() {
        Some(count) => searcher.nearest(needle, count as usize, 64),
        None => {
            let most = options["limit"].as_u64().map_or(usize::MAX, |most| most as usize);
            let limits = Limits::default().limit(most);
            let k = k_of(case).unwrap_or(store.tuned_k());
            searcher.search_with(needle, k, &limits)
        }
    };
    Ok(matches(&answer.map_err(told)?))
}

fn matches(answer: &Answer<'_>) -> Value {
    let matches = answer.to_matches().unwrap().into_iter().map(|found| {
        json!({ "fingerprint": found.fingerprint, "distance": found.distance, "ids": found.ids })
    });
    matches.collect()
}

fn records(store: &Store) -> Found {
    let mut rows = Vec::new();
    let walked = store.for_each(|entry| -> Result<(), fpstore::Error> {
        let fingerprint = entry.fingerprint();
        let mut ids = entry.ids().peekable();
        if ids.peek().is_none() {
            rows.push(json!(RecordRow { fingerprint: fingerprint.into(), id: None }));
        }
        for id in ids {
            rows.push(json!(RecordRow { fingerprint: fingerprint.into(), id: Some(id?) }));
        }
        Ok(())
    });
    walked.map_err(told)?;
    Ok(rows.into())
}

fn pairs(store: &Store, case: &Value) -> Found {
    let mut rows = Vec::new();
    let join = JoinOptions::new(k_of(case).unwrap());
    let pairs = document_pairs(store, &join, false).map_err(told)?;
    let walked = pairs.for_each(|pair| -> Result<(), fpstore::Error> {
        rows.push(json!(PairRow {
            first: pair.pair.first.into(),
            second: pair.pair.second.into(),
            distance: pair.pair.distance(),
            similarity: None,
            first_id: pair.first_id,
            second_id: pair.second_id,
            first_store: None,
            second_store: None,
        }));
        Ok(())
    });
    walked.map_err(told)?;
    Ok(rows.into())
}

fn grouped(store: &Store, case: &Value) -> Found {
    let mut rows = Vec::new();
    let join = JoinOptions::new(k_of(case).unwrap());
    let found = clusters(store, &join, ClusterMethod::Components).map_err(told)?;
    let rule = match case["options"]["rule"].as_str() {
        None => {
            let walked = found.for_each(|cluster| -> Result<(), fpstore::Error> {
                for member in &cluster.members {
                    rows.extend(member.ids.iter().map(|id| {
                        json!({
                            "cluster": cluster.number, "fingerprint": member.fingerprint,
                            "distance": member.distance, "id": id,
                        })
                    }));
                }
                Ok(())
            });
            walked.map_err(told)?;
            return Ok(rows.into());
        }
        Some("representative") => KeepRule::Representative,
        Some("smallest-id") => KeepRule::SmallestId,
        _ => KeepRule::LargestCluster,
    };
    let walked =
        found.for_each_document(rule, |fate, fingerprint, id| -> Result<(), fpstore::Error> {
            if fate == Fate::Keep {
                rows.push(json!(RecordRow { fingerprint: fingerprint.into(), id }));
            }
            Ok(())
        });
    walked.map_err(told)?;
    Ok(rows.into())
}

fn build(dir: &TestDir, store: &Store, case: &Value) -> Found {
    let options = &case["options"];
    let of_recipe = |name: &str| TextRecipe::named(name).unwrap().usual_k();
    let k = k_of(case).or(options["recipe"].as_str().map(of_recipe)).unwrap();
    let budget = options["budget"].as_str().map(str::parse).transpose().map_err(told)?;
    let scheme = options["scheme"].as_str().unwrap_or("auto");
    let choice = SchemeChoice::parse(scheme, k, budget).map_err(told)?;
    let options = BuildOptions::default().scheme(choice);
    let mut builder = Builder::with_options(dir.path("built.fps"), options).map_err(told)?;
    let copied = store.for_each(|entry| -> Result<(), fpstore::Error> {
        entry.ids().try_for_each(|id| builder.push(entry.fingerprint(), id?))
    });
    copied.map_err(told)?;
    Ok(built(&builder.finish().map_err(told)?))
}

/// Looks up the stored fingerprints of each id of a case.
fn find(store: &Store, case: &Value) -> Found {
    let ids = words(&case["options"]["ids"]);
    let wanted: Vec<IdRef<'_>> = ids.into_iter().map(IdRef::Text).collect();
    let found = store.find_ids(&wanted, None).map_err(told)?;
    let of_id = |found: &Vec<fpstore::FoundRecord>| -> Value {
        found.iter().map(|found| json!(found.fingerprint)).collect()
    };
    Ok(found.iter().map(of_id).collect())
}

fn id_of(item: &Value) -> Id {
    let id = word(&item[1]);
    id.parse().map_or_else(|_| Id::Text(id.into()), Id::U64)
}

fn check_and_add(dir: &TestDir, case: &Value) -> Found {
    let mut writer = CheckedWriter::new(dir.path("store.fps"), WriterOptions::default());
    let mut rows = Vec::new();
    for item in case["items"].as_array().unwrap() {
        let record = NewRecord::new(fingerprint(&item[0])?, id_of(item));
        let k = k_of(case).unwrap();
        rows.push(match writer.check_and_add(&record, k).map_err(told)? {
            Verdict::Added => json!({ "added": true }),
            Verdict::Stored(hit) => {
                let id = hit.ids().next().transpose().map_err(told)?;
                json!({
                    "added": false, "near": hit.fingerprint(), "near_id": id,
                    "distance": hit.distance(),
                })
            }
            Verdict::Pending { record, distance } => json!({
                "added": false, "near": record.fingerprint, "near_id": record.id,
                "distance": distance,
            }),
            Verdict::Cut => panic!("nothing cuts the search"),
        });
    }
    drop(writer.finish().map_err(told)?);
    Ok(json!({ "results": rows, "left": left(dir) }))
}

fn delete(dir: &TestDir, case: &Value) -> Found {
    let options = &case["options"];
    let mut writer = Writer::open(dir.path("store.fps")).map_err(told)?;
    let ids = words(&options["ids"]);
    let ids = ids.into_iter().map(IdRef::Text);
    let given = options["fingerprints"].as_array().into_iter().flatten();
    let fingerprints = given.map(fingerprint).collect::<Result<Vec<Fingerprint>, _>>()?;
    let dry_run = options["dry_run"] == true;
    let done = match (options["ids"].is_array(), dry_run) {
        (true, false) => writer.delete_ids(ids),
        (true, true) => writer.would_delete_ids(ids),
        (false, false) => writer.delete_fingerprints(&fingerprints),
        (false, true) => writer.would_delete_fingerprints(&fingerprints),
    };
    let mut done = json!(done.map_err(told)?);
    drop(writer);
    done["left"] = left(dir).into();
    Ok(done)
}

fn dedup_records(dir: &TestDir, stored: &Store, case: &Value) -> Found {
    let path = dir.path("new.fps");
    let mut builder = Builder::new(&path).map_err(told)?;
    for item in case["items"].as_array().unwrap() {
        builder.push(fingerprint(&item[0])?, word(&item[1])).map_err(told)?;
    }
    let new = builder.finish().map_err(told)?;
    let within = case["options"]["within"] == true;
    let join = JoinOptions::new(k_of(case).unwrap());
    let done = dedup(&new, Some(stored), within, &join).map_err(told)?;
    let mut rows = Vec::new();
    let walked = done.for_each_document(|fate, fingerprint, id| -> Result<(), fpstore::Error> {
        if fate == Fate::Keep {
            rows.push(json!(RecordRow { fingerprint: fingerprint.into(), id }));
        }
        Ok(())
    });
    walked.map_err(told)?;
    Ok(rows.into())
}

fn hasher() -> TextHasher {
    TextHasher::new(&TextRecipe::default()).unwrap()
}

fn compare(options: &Value) -> Found {
    let texts = [word(&options["first"]), word(&options["second"])];
    let found = Comparison::of(&mut hasher(), texts).map_err(told)?;
    let [first, second] = found.fingerprints;
    let [only_first, only_second] = found
        .only
        .map(|list| list.into_iter().map(|feature| Value::from(feature.text)).collect::<Value>());
    Ok(json!({
        "first": first, "second": second, "distance": found.distance, "estimate": found.estimate,
        "jaccard": found.jaccard, "common_count": found.common_count, "only_first": only_first,
        "only_second": only_second,
    }))
}

fn clean(dir: &TestDir, case: &Value) -> Found {
    let options = &case["options"];
    let source = DocumentSource::of_texts(hasher(), DocumentOptions::default());
    let mut cleaner = Cleaner {
        output: Some(dir.path("clean.jsonl")),
        confirm: options["confirm"].as_f64(),
        confirm_contains: options["confirm_contains"].as_f64(),
        k: k_of(case),
        ..Cleaner::new(source, [dir.path("docs.jsonl")])
    };
    if let Some(count) = options["per_cluster"].as_u64() {
        cleaner.per_cluster = count as u32;
    }
    if let Some(rules) = options["keep"].as_str() {
        cleaner.keep = rules.parse().map_err(|error: fpstore::Error| told(error))?;
    }
    let cleaned = cleaner.begin().map_err(told)?.unwrap().run().map_err(told)?;
    let mut removed = Vec::new();
    let walked = cleaned.for_each_removed(|row| -> Result<(), fpstore_corpus::Error> {
        let similarity = row.similarity.map(super::four_digits);
        let mut row = json!(row);
        row["similarity"] = json!(similarity);
        removed.push(row);
        Ok(())
    });
    walked.map_err(told)?;
    cleaned.finish().map_err(told)?;
    Ok(json!({ "ids": kept_ids(dir), "removed": removed }))
}

fn confirmed_pairs(dir: &TestDir, case: &Value) -> Found {
    let recipe = TextRecipe::default();
    let threshold = case["options"]["confirm"].as_f64().unwrap();
    let k = k_of(case).unwrap_or(recipe.candidate_k(threshold));
    let confirmer = Confirmer::new(threshold, JoinOptions::new(k)).map_err(told)?;
    let (files, reading) = ([dir.path("docs.jsonl")], DocumentOptions::default());
    let (hasher, skipped) = (hasher(), |_: &_| ());
    let confirmed = fpstore_corpus::confirm_documents::<_, Box<dyn std::error::Error>>(
        &confirmer, &files, &hasher, &reading, skipped,
    )
    .map_err(told)?;
    let mut rows = Vec::new();
    let walked = confirmed.for_each_pair(false, |pair| -> Result<(), fpstore::Error> {
        let id =
            |document| Ok::<_, fpstore::Error>(confirmed.id(document)?.map(|id| id.to_string()));
        rows.push(json!({
            "first_id": id(pair.first)?, "second_id": id(pair.second)?,
            "distance": pair.distance(), "similarity": pair.similarity,
        }));
        Ok(())
    });
    walked.map_err(told)?;
    Ok(super::by_ids(rows))
}

fn evaluate(dir: &TestDir, store: &Store, case: &Value) -> Found {
    // The records are read in input order, the same as through the other interfaces.
    let lines = dir.read("records.tsv");
    let mut ids = HashMap::new();
    let mut values = Vec::new();
    for line in lines.lines() {
        let (value, id) = line.split_once('\t').unwrap();
        ids.insert(id.to_string(), values.len());
        values.push(Some(value.parse::<Fingerprint>().map_err(told)?));
    }
    assert_eq!(values.len() as u64, store.info().id_count());
    let labels = LabelFile::parse(&dir.read("labels.tsv")).map_err(told)?;
    let pairs = labels.numbered(&ids).map_err(told)?;
    let options = &case["options"];
    let unlisted_differ = options["unlisted_differ"] == true;
    let found = Evaluation::of(&pairs, &values, unlisted_differ, None).map_err(told)?;
    let forecast = options["collection_size"].as_u64().map(|size| found.forecast(size));
    Ok(json!({
        "points": found.points()[..super::POINT_COUNT], "area": found.area(),
        "best": found.best(), "duplicates": found.duplicate_count(), "others": found.other_count(),
        "recommended_k": forecast.map(|forecast| forecast.recommended_k),
    }))
}

fn plan(case: &Value) -> Found {
    let options = &case["options"];
    let mut request = PlanRequest::new(options["n"].as_u64().unwrap(), k_of(case).unwrap());
    if let Some(budget) = options["budget"].as_str() {
        request = request.budget(budget.parse().map_err(told)?);
    }
    let plan = request.plan().map_err(told)?;
    let frontier = plan.estimates.iter().filter(|it| it.on_frontier);
    // No scheme on the frontier is both smaller and faster than another one.
    for one in frontier.clone() {
        let beats = |other: &&SchemeEstimate| {
            other.tables_len < one.tables_len && other.hot_micros < one.hot_micros
        };
        assert_eq!(plan.estimates.iter().find(beats).map(|it| &it.name), None, "{}", one.name);
    }
    Ok(json!({
        "chosen": plan.chosen().name, "frontier": frontier.map(|it| &it.name).collect::<Vec<_>>(),
    }))
}
