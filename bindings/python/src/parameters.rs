//! Descriptions of parameters that many functions share, for `#[doc = parameters!(...)]`, in the
//! style of numpydoc.

/// Joins the descriptions of the named parameters, in the given order.
macro_rules! parameters {
    ($first:ident $($name:ident)*) => { concat!(parameter!($first) $(, "\n", parameter!($name))*) };
}

macro_rules! parameter {
    (threads) => {
        "threads : int, optional\n    Number of threads; by default one for each core."
    };
    (memory) => {
        "memory : int or str, optional\n    Bytes of working memory, such as `\"1GB\"`; by default \
         a quarter of the machine's memory."
    };
    (temp_dir) => {
        "temp_dir : path, optional\n    Directory of temporary files; by default the directory of \
         the system."
    };
    (progress) => {
        "progress : callable or bool, optional\n    Called repeatedly with a `fpstore.types.Progress`. \
         `True` shows a progress line, or a bar in a notebook."
    };
    (max_pairs) => {
        "max_pairs : int, optional\n    Maximum number of pairs; more raise `TooManyPairsError`."
    };
    (wait) => {
        "wait : float or None, default 0\n    Seconds to wait while another process is writing; \
         `None` for no limit."
    };
    (max_rate) => {
        "max_rate : int or str, optional\n    Maximum number of bytes read or merged per second, \
         such as `\"50MB\"`."
    };
    (samples) => {
        "samples : int, default 100\n    Number of queries whose answers are compared with \
         those of a scan."
    };
    (dry_run) => {
        "dry_run : bool, default False\n    Whether the answer is computed, but nothing is changed."
    };
    (what) => {
        "what : str, default \"tier\"\n    `\"tier\"` merges segments of similar size, `\"all\"` \
         merges all, `\"one\"` merges into one, `\"rewrite\"` rewrites each segment."
    };
    (expire) => {
        "before : str, optional\n    Removes segments whose label sorts before it, such as \
         `2026-09` before `2026-10`.\nolder_than : str, optional\n    Removes segments whose label is a date \
         of more than `30d`, `6w`, `3mo` or `1y` ago.\nall : bool, default False\n    Required if no \
         record would be left."
    };
    (k_store) => {
        "k : int, optional\n    Maximum distance in bits, from 0 to 64; by default the tuned \
         distance of the store."
    };
    (k_recipe) => {
        "k : int, optional\n    Maximum distance in bits; by default the usual distance of the \
         recipe, or 3 if it is\n    unknown."
    };
    (limit) => {
        "limit : int, optional\n    Maximum number of matches of each query; a fingerprint in two \
         stores counts once."
    };
    (ids_labels) => {
        "ids : bool, default True\n    Whether rows contain ids.\nlabels : bool, default False\n    \
         Whether rows contain the label of each id."
    };
    (mode) => {
        "mode : str, default \"auto\"\n    `\"probe\"` looks up each query in the tables, \
         `\"walk\"` answers all queries in one walk\n    of each table, `\"pass\"` reads the whole store, `\"auto\"` takes the mode\n    that is expected to be \
         faster."
    };
    (task_threads) => {
        "threads : int, default 1\n    Number of threads; 1 suits engines, which run one task for each core."
    };
    (task_memory) => {
        "memory : int or str, default \"256MiB\"\n    Bytes of working memory."
    };
    (build) => {
        concat!(
            "k : int, optional\n    Distance in bits of most queries; by default the usual \
             distance of the recipe, or 3 without a\n    recipe.\nscheme : str, optional\n    \
             Name of the table scheme (`\"halves\"`, `\"4\"`, ...); by default the fastest within \
             `budget`.\nbudget : int or str, optional\n    Maximum size of the tables, such as \
             `\"16B/fp\"` or `\"12GB\"`.\nlabel : str, optional\n    Label of the segment, by \
             which it can expire.\nrecipe : Recipe or str, optional\n    The recipe of the \
             fingerprints; by default that of the given `Column`. The store refuses\n    fingerprints of \
             other recipes.\nsketch : bool or int, default False\n    Stores a sketch of 32, 64 or \
             128 (`True`) bytes of each added document: `clean(store=...)`\n    then decides by \
             similarity, and not by fingerprints alone.\nbits : int, optional\n    Width of \
             ready-made fingerprints, a multiple of 8; by default 64.\nid_type : str, default \
             \"auto\"\n    `\"int\"` or `\"str\"` makes ids of that kind; with `\"auto\"` the first \
             ids decide, and texts are\n    refused after numbers.\nreplace : bool, default \
             False\n    Whether an existing store is replaced. The old store answers queries \
             until the new one is complete.\n",
            parameters!(threads memory temp_dir wait progress)
        )
    };
}
