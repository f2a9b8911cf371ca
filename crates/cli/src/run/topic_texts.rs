//! The texts of the help topics.

pub(crate) const INPUT: &str = "\
Each line of a file holds a fingerprint and, after a tab, comma, colon or spaces, the id of its \
document. Ids are optional, and several ids may share a fingerprint. Blank lines and lines that \
start with # are ignored. Files that end in .gz or .zst are decompressed; - is standard input.

A fingerprint of fewer than 16 hex digits is padded with zeros on the left. --radix names another \
spelling, as that of signed numbers in a database. --input-format names binary layouts.

--fingerprint-field reads ready fingerprints from a field of JSON Lines, CSV, TSV or Parquet.

A bad record ends the work, and its file and line are named. --skip-bad counts bad records and shows \
the first ten. Fingerprints of different recipes cannot be compared; see 'fpstore help recipes'.";

pub(crate) const DOCUMENTS: &str = "\
With --docs the input is documents. The end of its name says what a file holds: .jsonl (JSON Lines), \
.csv and .tsv with a header, .parquet, .warc, .html (its main text), anything else one document of \
plain text; .gz and .zst are decompressed. --docs-format says it for all files. Standard input is \
JSON Lines unless --docs-format says otherwise.

A folder stands for all files in it but hidden ones, with their paths below it as ids, and its name \
in front if there are several.

A document without features, such as an empty one, has no fingerprint; it is counted and named, and \
is no error.";

pub(crate) const RECIPES: &str = "\
A recipe says how texts become fingerprints. Only fingerprints of one recipe can be compared. \
minhash, the default, suits texts in any language and finds most duplicates; simhash gives the \
SimHash of Manku et al.; code is for source code; 1e0ng gives the values of the Python package \
simhash. A file with a recipe, as 'info' prints it, is taken, too.

A store knows its recipe, and commands that compare documents with it follow that. The files that \
the recipe needs (--df, --stop-words, --weights) must be given again. Options change a recipe part \
by part. 'fpstore fingerprint -v' prints a whole recipe, 'fpstore features' what it makes of a \
text, and 'fpstore evaluate' how well it finds duplicates of yours.";

pub(crate) const CONFIRM: &str = "\
Near fingerprints make candidates: some of them are other documents. --confirm S keeps only near \
documents whose features have a Jaccard similarity of S or more.

With --docs it is exact: the features of candidates are read again and compared, so the input must \
be files. With a store it is estimated from the sketches that the store keeps (build --sketch). A \
sketch of 128 bytes has a standard deviation of 0.035 where the similarity is 0.8.

Without -k the distance of candidates is chosen so that of pairs of similarity S one in a hundred is \
missed, and fewer of others. The similarity stands after the distance in each line.";

pub(crate) const QUERIES: &str = "\
A query is a fingerprint, or with a store of documents a text (--text) or a file (--file). The files \
that its recipe needs (--df, --stop-words, --weights) must be given again. --id ID searches for what \
is stored under an id, its own record included; it reads the ids of the whole store first. --from \
FILE answers all records of a file, in their order; the id of a record comes first, as another \
column or another field. - answers each line of standard input at once, and with --refresh finds the \
records that others add meanwhile; see 'fpstore help streams'.

TSV has one line for each match and id: query, match, distance, id; the nearest match comes \
first. JSON has one object for each query, with fingerprints as 16 hex digits and ids as \
strings. A match without ids has one line with an empty id.

-s A -s B asks several stores as one, as a year of crawls in twelve stores. The name of the store, as -s \
gave it, then stands before the id, in JSON as the field store of each match; a fingerprint that two \
stores hold is a match in each. --limit and --nearest count it once. The stores may have different \
schemes, but need one recipe.

--nearest N finds the N nearest, ties by ascending fingerprint, at any distance or within -k; \
--nearest 1 -k 8 tells whether there is any, faster than a search within 8 bits.

--confirm S compares the sketch of each text, file or document with those that the store keeps \
(build --sketch), and prints the matches whose estimated Jaccard similarity is S or more; it stands \
after the distance.

--server URL asks 'fpstore serve' instead of a store, with the same output. Its limits hold: an \
answer that one of them cut is reported.";

pub(crate) const CLUSTERS: &str = "\
Methods: components joins documents that a chain of near documents connects; the representative \
is near the most documents, and among those has the smallest id. star: every member is near its \
representative, and the most connected documents become representatives first. leader: as if \
each document near an earlier kept one was dropped; earlier means in the order of the files, or \
by smallest id in a store.

With --docs and --confirm S, the similarity with the representative stands after the distance. Of \
documents that are near equally many, the first becomes the representative, and --keep prints in the \
order of the files. The documents are read twice. Many copies of a template cost what other documents \
cost with leader; with the other methods each pair of near ones is compared, because the representative \
is near the most.

--keep prints, instead of the clusters, the documents to keep, by ascending fingerprint, as \
lines that 'build' reads; with --drop it prints the others. Rules: representative; smallest-id; \
first, the first in the files; largest-cluster, which keeps the documents of the largest cluster \
and no others.

--html FILE writes a page for a browser, without network: the groups, largest first, with \
distances, and where texts are known, with the differences from the representative marked by \
words. With --docs the texts are those of the documents, which are then read twice; with a store \
or fingerprints --texts names documents with the same ids, and without it the page shows ids. \
--link and --image make addresses of ids.

--pairs FILE obeys people: documents of a pair that is judged one are in one cluster, and those that \
are judged different never are. Where near documents would bring two different ones together, that \
component is decided again: its documents start alone, those that are one are joined, and then its \
near pairs are taken by ascending distance, ties by the smaller document, then by the larger one: by \
fingerprint, then by id as text. A pair that would bring two different ones together is passed over.

--stable FILE reads an earlier output of 'cluster' and keeps the numbers of its clusters: a number \
goes to the cluster with most of its documents.";

pub(crate) const SCHEMES: &str = "\
A store answers any k exactly. The scheme decides for which k it is fast: it names the masks of its \
tables. More tables are larger and mostly faster.

--scheme auto, the default of 'build', is the fastest scheme for the fingerprints and -k within \
--budget. A new segment of a store gets the tables of the largest segment or, if it has more than \
twice as many fingerprints, the fastest tables for its data; merged segments keep those of the \
largest. A file has one mask on each line, in hex. 'fpstore plan' shows the space and the time of \
each scheme. With -live, -dealt or -sorted after a name the masks are cut from the bits that vary \
in the data; 'plan --sample' compares them.

That no scheme misses a match is proven before its masks are used. The names:";

pub(crate) const LABELS: &str = "\
--label names what is added at one time, such as 2026-11; the words today and yesterday \
stand for dates in UTC. Where all labels of a store are dates of one form, another form is refused, \
because it would never expire. \
Segments are merged only with neighbours of the same label, so each label can expire alone. \
'query --label' searches one, 'query --labels' prints that of each match. 'expire --older-than 30d' \
removes the labels that are dates of more than 30 days ago, 'expire --before LABEL' those that sort \
before another one of the same form.

--run NAME makes a job safe to repeat: the store remembers the last 1024 names, in the step that \
adds the records, and a run whose name it knows changes nothing.";

pub(crate) const STREAMS: &str = "\
'query -', 'add --follow' and 'dedup --add -' answer each line of standard input as it comes, \
'fingerprint -' each document.

A program that waits for answers should take --format json, which has exactly one line for each \
query, also where there is no match. A bad line is named on standard error and in JSON answered \
with its 'place' and the 'error'. It ends nothing; without --skip-bad the status is then 2 in the \
end.

'dedup --add -' compares later records also with earlier ones. It answers 'new', fingerprint and id \
for a record that is added; or 'near', fingerprint, id, stored fingerprint, distance and first \
stored id for one that is not; or with --docs 'empty', nothing and id for a document without \
features; or 'bad', nothing and what is wrong with a line. 'add --follow' prints for each commit the \
number of records that are durable and the generation of the store.

Records are committed --batch-count at a time or every --batch-seconds. After a crash up to that \
many may be answered 'new' again; with --batch-count 1 each is durable before it is answered. Other \
commands can write to the store between two batches; while they do, the stream waits, and then \
compares with their records, too. If nobody reads the answers any more, the records that were \
answered are added, and the status is 2.";

pub(crate) const MEMORY: &str = "\
Records that do not fit into --memory are sorted in temporary files, which have no names and vanish \
with the process. A build needs about three times the bytes of one table there and twice the bytes \
of the ids; a join 12 bytes for each pair beyond memory. Results depend on neither memory nor \
threads. The commands say before they start if the disk is too small.

One process at a time writes to a store. A second one fails at once, or waits with --wait.";

pub(crate) const OUTPUT: &str = "\
Answers go to standard output, everything else to standard error, in lines that begin with \
'fpstore: '. --quiet leaves out all but errors.

tsv has tab-separated columns and no header; --header adds one. csv has one, and quotes as in RFC \
4180. json has one object on each line, with fingerprints as 16 hex digits and ids as texts, because \
JavaScript and jq round numbers above 2^53; --json is short for --format json. parquet needs -o. \
Reports are text for people, or one JSON object.

A file appears under its name when it is complete, and replaces another one only with --force. On a \
terminal control characters of ids are escaped, and the digits in which two fingerprints differ are \
coloured; NO_COLOR or --color never leaves that out.";

pub(crate) const EXIT_STATUS: &str = "\
Every command ends with one of these, on which scripts can rely:

  0    found, or done, also if there was nothing to do
  1    not found: what was asked for is not there, and nothing is wrong
  2    error: a wrong argument, a bad input, a damaged or missing store
  130  ended by a signal: an interrupt, SIGTERM or SIGHUP

1 is the status of

  query    if no query has a match, or no record has the id
  pairs    if there is no pair; not with --share
  cluster  if there is no cluster; not with --keep
  delete   if nothing of what was named is in the store
  compare  with -s, if no record has an id
  verify   if the store is damaged

An option that names what a store does not have, such as a label or a segment, is an error. If the \
reader of the output closes it, as 'head' does, that is no error.";

pub(crate) const ENVIRONMENT: &str = "\
  FPSTORE          the store that is meant if none is named; else it is store.fps
  FPSTORE_THREADS  the number of threads, as --threads
  FPSTORE_TOKEN    the token for 'query --server', as --token-file
  NO_COLOR         if set, nothing is coloured
  TMPDIR           the folder for temporary files of commands that write no store

Nothing is kept outside of stores and outputs.";
