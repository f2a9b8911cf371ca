//! The texts of the help topics.

pub(crate) const INPUT: &str = "\
Each line of a file contains a fingerprint and, after a tab, comma, colon or spaces, the id of its \
document. Ids are optional, and several ids may share a fingerprint. Blank lines and lines that \
start with # are ignored. Files that end in .gz or .zst are decompressed; - is standard input.

A fingerprint of fewer than 16 hex digits is padded with zeros on the left. --radix sets another \
number base, for example for signed numbers of a database. --input-format selects binary layouts.

--fingerprint-field reads ready fingerprints from a field of JSON Lines, CSV, TSV or Parquet.

A bad record ends the command, and its file and line are printed. --skip-bad counts bad records and \
shows the first ten. Fingerprints of different recipes cannot be compared; see 'fpstore help recipes'.";

pub(crate) const DOCUMENTS: &str = "\
With --docs the input is documents. The file extension selects the format:

  .jsonl      JSON Lines, the format of standard input
  .csv, .tsv  a table with a header
  .parquet    Parquet
  .warc       a web archive
  .html       a page; its main text is read
  others      one document of plain text

.gz and .zst are decompressed. --docs-format sets the format of all files and of standard input.

A folder stands for all its files except hidden ones. The id of a file is its path below the folder; \
with several folders, the name of the folder comes first.

A document without features, such as an empty one, has no fingerprint. It is counted and its id is \
printed; this is not an error.";

pub(crate) const RECIPES: &str = "\
A recipe defines how texts are converted to fingerprints. Only fingerprints of one recipe can be \
compared. The recipes:

  minhash  the default; suits texts in any language and finds most duplicates
  simhash  the SimHash of Manku et al.
  code     for source code
  1e0ng    the values of the Python package simhash
  a file   with a recipe, as 'info' prints it

A store contains its recipe, and commands that compare documents with a store use that recipe. Files \
for the recipe (--df, --stop-words, --weights) must be given again. Other options change single parts \
of a recipe. 'fpstore fingerprint -v' prints a whole recipe, 'fpstore features' the features of a \
text, and 'fpstore evaluate' measures how well a recipe finds your duplicates.";

pub(crate) const CONFIRM: &str = "\
Some documents with near fingerprints are different documents. --confirm S finds the documents whose \
features have a Jaccard similarity of S or more. The similarity follows the distance in each line.

With --docs the similarity is exact, and all such pairs are found. The features of all documents are \
kept in a temporary file, 8 bytes each.

With a store the similarity is estimated from the stored sketches (build --sketch). A sketch of 128 \
bytes has a standard deviation of 0.035 at a similarity of 0.8. Documents with near fingerprints are \
candidates: without -k their distance is chosen so that one in a hundred pairs of similarity S is \
missed, and fewer pairs of a higher similarity.";

pub(crate) const QUERIES: &str = "\
Queries:

  HEX           fingerprints
  -             each line of standard input, answered at once; --refresh also searches new records
  --text TEXT   a text, for a store of documents
  --file FILE   a file, for a store of documents
  --id ID       the fingerprints of a stored id, itself a match; reads all ids of the store
  --from FILE   all records of a file, in their order; their ids come first, as a column or a field

For texts and files, the files of the recipe (--df, --stop-words, --weights) must be given again. For \
streams see 'fpstore help streams'.

TSV has one line for each match and id: query, match, distance, id; the nearest match comes \
first. JSON has one object for each query, with fingerprints as 16 hex digits and ids as \
strings. A match without ids has one line with an empty id.

-s A -s B searches several stores as one, such as twelve stores for a year of crawls. The name of the \
store, as given with -s, is then a column before the id, and in JSON the field store of each match. A \
fingerprint in two stores is a match in each; --limit and --nearest count it once. The stores may have \
different schemes, but need one recipe.

--nearest N finds the N nearest, ties by ascending fingerprint, at any distance or within -k. \
--nearest 1 -k 8 finds out whether there is any match, faster than a search within 8 bits.

--confirm S compares the sketch of each text, file or document with the stored sketches (build \
--sketch), and prints the matches with an estimated Jaccard similarity of S or more. The similarity \
follows the distance.

--server URL queries 'fpstore serve' instead of a store, with the same output. The limits of the \
server apply: each answer cut by a limit is reported.";

pub(crate) const CLUSTERS: &str = "\
Methods:

  components  documents connected by a chain of near documents
  star        members are near their representative, chosen by the number of near documents
  leader      a document joins an earlier representative near it, or becomes one

The representative of a component is near the most documents; ties: the smallest id. For leader, \
earlier means in the order of the files, or by smallest id in a store.

With --docs and --confirm S, the similarity to the representative follows the distance. The first of \
equally connected documents becomes the representative, and --keep prints in the order of the files. \
With leader, many copies of a template cost as much as other documents; with the other methods each \
pair of similar documents is compared, to find the representative.

--keep prints the documents to keep instead of the clusters, by ascending fingerprint, as lines for \
'build'; with --drop it prints the other documents. Rules:

  representative   the representative of each cluster
  smallest-id      the smallest id
  first            the first document in the files
  largest-cluster  the documents of the largest cluster and no others

--html FILE writes a page for a browser, without network: the groups, largest first, with distances, \
and for known texts the differences from the representative marked by words. With --docs the texts \
come from the documents, which are then read twice. With a store or fingerprints, --texts names \
documents with the same ids; without it the page shows ids. --link and --image set links and pictures.

--pairs FILE contains judgements of people. Documents judged the same are always in one cluster, and \
documents judged different never. A component that would contain two different documents is built \
again: from single documents, joining first the same documents, then near pairs by ascending distance, \
ties by the smaller document, then by the larger one (by fingerprint, then by id as text). A pair that \
would join two different documents is skipped.

--stable FILE reads an earlier output of 'cluster' and keeps its cluster numbers: the cluster with most \
documents of an earlier cluster gets its number.";

pub(crate) const SCHEMES: &str = "\
A store answers any k exactly. The scheme, which is the list of the masks of the tables, decides which \
k is fast. More tables take more space and are mostly faster.

--scheme auto, the default of 'build', is the fastest scheme for the fingerprints and -k within \
--budget. A new segment of a store gets the tables of the largest segment or, if it has more than \
twice as many fingerprints, the fastest tables for its data; merged segments keep those of the \
largest. A file of masks has one mask on each line, in hex. 'fpstore plan' shows the space and the time \
of each scheme. With -live, -dealt or -sorted after a name, the masks use the bits that vary in the \
data; 'plan --sample' compares them.

Before masks are used, a proof checks that the scheme misses no match. The names:";

pub(crate) const LABELS: &str = "\
--label names the records of one addition, such as 2026-11; the words today and yesterday stand for \
dates in UTC. If all labels of a store are dates of one form, a label of another form is refused, \
because it would never expire.

Only neighbouring segments of the same label are merged, so each label can expire alone. 'query \
--label' searches one label, 'query --labels' prints the label of each match. 'expire --older-than \
30d' removes labels that are dates of more than 30 days ago, 'expire --before LABEL' removes labels \
of the same form that sort before LABEL.

--run NAME makes a job safe to repeat: the store keeps the last 1024 names, in the step that adds the \
records, and a run with a known name changes nothing.";

pub(crate) const STREAMS: &str = "\
'query -', 'add --follow' and 'dedup --add -' answer each line of standard input as it comes, \
'fingerprint -' each document.

A program that waits for answers should use --format json, which has exactly one line for each query, \
also for a query without a match. A bad line is reported on standard error, and in JSON answered with \
its 'place' and the 'error'. The command continues; without --skip-bad its status is then 2.

'dedup --add -' compares later records also with earlier ones. Its answers:

  new    an added record: fingerprint, id
  near   a record that is not added: fingerprint, id, stored fingerprint, distance, first stored id
  empty  with --docs a document without features: nothing, id
  bad    a bad line: nothing, the error

'add --follow' prints for each commit the number of durable records and the generation of the store.

Records are committed --batch-count at a time or every --batch-seconds. After a crash up to that \
many records may be answered 'new' again; with --batch-count 1 each is durable before it is answered. \
Between two batches other commands can write; the stream waits, and later records are also compared \
with theirs. If the output is closed, the answered records are added, and the status is 2.";

pub(crate) const MEMORY: &str = "\
Records that do not fit into --memory are sorted in temporary files, which have no names and vanish \
with the process. Their size:

  build  about three times the bytes of one table, and twice the bytes of the ids
  join   12 bytes for each pair beyond memory

Results depend neither on memory nor on threads. Commands check the free space before they start.

One process at a time writes to a store. A second one fails at once, or waits with --wait.";

pub(crate) const OUTPUT: &str = "\
Answers are written to standard output, messages to standard error, in lines that begin with \
'fpstore: '. With --quiet only errors are printed.

  tsv      tab-separated columns; --header adds a header
  csv      with a header, and quotes as in RFC 4180
  json     one object on each line (--json is short for --format json)
  parquet  only with -o

In JSON fingerprints are 16 hex digits and ids are texts, because JavaScript and jq round numbers above \
2^53. Reports are text for people, or one JSON object.

An output file appears under its name when it is complete, and replaces an existing file only with \
--force. Between tabs, a backslash, tab or line end in an id or a name is escaped as in JSON; an id in the \
last column is unchanged. On a terminal, control characters in ids are escaped, and the digits in which \
two fingerprints differ are coloured; NO_COLOR or --color never turns colours off.";

pub(crate) const EXIT_STATUS: &str = "\
Scripts can rely on the exit status of every command:

  0    found, or done, also if there was nothing to do
  1    not found, and nothing is wrong
  2    error: a wrong argument, a bad input, a damaged or missing store
  130  ended by a signal: an interrupt, SIGTERM or SIGHUP

Commands with the status 1:

  query    no query has a match, or no record has the id
  pairs    no pair; not with --share
  cluster  no cluster; not with --keep
  delete   none of the ids or fingerprints is in the store
  compare  with -s, no record has a given id
  verify   the store is damaged

An option with a label or a segment that the store does not have is an error. An output that is closed \
by its reader, such as 'head', is not an error.";

pub(crate) const ENVIRONMENT: &str = "\
The variables:

  FPSTORE          the default store; without it store.fps
  FPSTORE_THREADS  the number of threads, as --threads
  FPSTORE_TOKEN    the token for 'query --server', as --token-file
  NO_COLOR         if set, output is not coloured
  TMPDIR           the folder for temporary files of commands that do not write a store

fpstore keeps no files outside of stores and outputs.";
