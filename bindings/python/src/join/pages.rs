//! HTML pages about a store: one shows its clusters, one shows pairs for people to judge.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use fpstore::join::{Cluster, ClusterMethod, JUDGED_DISTANCE, sampled_pairs};
use fpstore::rows::{ClusterMemberRow, ClusterRow};
use fpstore::{Id, Resources, Width};
use fpstore_documents::read_texts;
use fpstore_report::page::{About, GroupPage, LargestGroups, MakeFingerprint, Template};
use fpstore_text::{TextHasher, TextRecipe};
use pyo3::prelude::*;

use super::clusters::clusters_of;
use crate::documents::{Documents, Readable, judged_of, of_row};
use crate::errors::{Failure, input_error};
use crate::input::arguments::{path_or_none, text, text_or_none};
use crate::input::whole::{Bytes, Whole, wide};
use crate::notebook::Page;
use crate::options::{Limits, checked, choice, distance, distance_of};
use crate::store::Store;
use crate::tuple_class::FRAMES;
use crate::work::{Reporter, Shared, run};

/// Number of documents of each group for which pictures are embedded; further ones have none.
const SHOWN: usize = 24;
/// Maximum length of an HTML page in bytes.
const LEN_MAX: u64 = 32 << 20;

/// The texts of a page, and their hasher: fingerprints distinguish documents with the same id.
struct Texts {
    readable: Readable,
    hasher: Option<TextHasher>,
}

impl Texts {
    fn of(given: &Bound<'_, PyAny>, limits: &Limits, store: &fpstore::Store) -> PyResult<Self> {
        let resources = limits.given(&Arc::default());
        let readable = Documents::of(given)?.get().readable(given.py(), &resources)?;
        // The store contains no word lists or tables: for a recipe that needs them there is no
        // hasher, and documents with the same id are not distinguished.
        let recipe = store.recipe().and_then(|it| TextRecipe::from_recipe(&it).ok());
        let hasher = recipe.and_then(|recipe| TextHasher::new(&recipe).ok());
        Ok(Texts { readable, hasher })
    }
}

/// Templates that make addresses of links and pictures from ids.
struct Links {
    link: Option<Template>,
    image: Option<Template>,
    /// The argument `images`: pictures to embed, by id.
    images: Option<Py<PyAny>>,
}

impl Links {
    fn of(
        py: Python<'_>,
        link: Option<&str>,
        image: Option<&str>,
        images: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let of = |name: &str, text: Option<&str>| {
            let parsed = text.map(str::parse::<Template>).transpose();
            parsed.map_err(|error| input_error(py, format!("{name}: {error}")))
        };
        let images = images.map(|images| images.clone().unbind());
        Ok(Links { link: of("link", link)?, image: of("image", image)?, images })
    }

    /// The thumbnails of the first [`SHOWN`] documents of each group, by id.
    fn thumbnails(&self, page: &GroupPage) -> PyResult<Option<HashMap<String, String>>> {
        let Some(images) = &self.images else { return Ok(None) };
        let ids: Vec<&str> = page.ids(SHOWN).collect();
        Python::attach(|py| {
            py.import(FRAMES)?.call_method1("thumbnails", (images, ids))?.extract().map(Some)
        })
    }
}

/// Makes the HTML page of `groups`, with texts if they are given.
fn written(
    groups: LargestGroups,
    about: &About<'_>,
    texts: Option<Texts>,
    links: &Links,
    resources: &Resources,
    shared: &Shared,
) -> Result<Page, Failure> {
    let page = GroupPage::of(groups);
    let pictures = links.thumbnails(&page)?;
    let mut found = None;
    if let Some(Texts { readable, hasher }) = texts {
        let folder = resources.temp_dir.clone().unwrap_or_else(std::env::temp_dir);
        let taken = found.insert(page.texts(&folder)?);
        let mut make = hasher.map(|mut hasher| move |text: &str| hasher.fingerprint(text));
        let options = readable.options.clone().observer(resources.observer.clone());
        read_texts::<Failure>(&readable.paths, &options, |id, text| {
            let make = make.as_mut().map(|make| make as MakeFingerprint<'_>);
            Ok(taken.take(&id.to_string(), text, make)?)
        })
        .map_err(|failure| of_row(failure, &readable))?;
    }
    let (link, image) = (links.link.as_ref(), links.image.as_ref());
    let about = About { link, image, pictures: pictures.as_ref(), more: "groups", ..*about };
    Ok(Page(page.write(&about, found, || shared.check())?.html))
}

fn row_of(cluster: &Cluster, width: Width) -> ClusterRow {
    let members = cluster.members.iter().map(|member| ClusterMemberRow {
        fingerprint: width.hex(member.fingerprint),
        distance: member.distance,
        similarity: None,
        ids: member.ids.iter().map(|id: &Id| Some(id.to_string())).collect(),
    });
    ClusterRow {
        cluster: cluster.number,
        size: cluster.size,
        diameter: cluster.diameter,
        diameter_is_exact: cluster.diameter_is_exact,
        representative: width.hex(cluster.members[0].fingerprint),
        members: members.collect(),
    }
}

fn bits(k: u32) -> String {
    if k == 1 { "1 bit".into() } else { format!("{k} bits") }
}

#[pymethods]
impl Store {
    /// An HTML page of the largest clusters, for a browser or a notebook.
    ///
    /// Parameters
    /// ----------
    #[doc = parameters!(k_store)]
    /// method, pairs
    ///     The same as for `clusters`.
    /// texts : Documents, path, list of paths, or table, optional
    ///     The texts of the documents, matched by id: the page then shows how they differ.
    /// groups : int, default 1000
    ///     Maximum number of clusters.
    /// link, image : str, optional
    ///     Templates for the addresses of a document and its picture, such as
    ///     `"https://example.org/{id}"`. A notebook loads only pictures from other servers.
    /// images : path or dict, optional
    ///     Pictures to embed as thumbnails, so that notebooks show them: a folder in which ids are
    ///     paths, or a dictionary from ids to paths, bytes or pillow images. Requires the package
    ///     pillow.
    #[doc = parameters!(threads memory temp_dir progress)]
    ///
    /// Returns
    /// -------
    /// fpstore.types.Page
    ///
    /// Examples
    /// --------
    /// >>> import pandas
    /// >>> frame = pandas.DataFrame({"id": ["a.html", "b.html"], "text": ["the quick fox", "the slow fox"]})
    /// >>> "the quick fox" in store.clusters_page(3, texts=frame).html()
    /// True
    #[pyo3(signature = (
        k=None, method="components", *, texts=None, pairs=None, groups=1000, link=None, image=None,
        images=None, threads=None, memory=None, temp_dir=None, progress=None
    ))]
    fn clusters_page(
        &self,
        py: Python<'_>,
        k: Option<Whole>,
        #[pyo3(from_py_with = text)] method: &str,
        texts: Option<&Bound<'_, PyAny>>,
        pairs: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = wide)] groups: i128,
        #[pyo3(from_py_with = text_or_none)] link: Option<&str>,
        #[pyo3(from_py_with = text_or_none)] image: Option<&str>,
        images: Option<&Bound<'_, PyAny>>,
        threads: Option<Whole>,
        memory: Option<Bytes>,
        #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Page> {
        let store = self.one()?;
        let k = distance(py, k, &store)?;
        let method: ClusterMethod = choice(py, "method", method)?;
        let judged = judged_of(pairs, method)?;
        let most = checked(py, &fpstore::options::COUNT, groups)? as usize;
        let links = Links::of(py, link, image, images)?;
        let limits = Limits::new(py, threads, memory, temp_dir)?;
        let reporter = Reporter::new(progress)?.phases(3);
        let texts = texts.map(|texts| Texts::of(texts, &limits, &store)).transpose()?;
        let title = self.title();
        run(py, &reporter, move |shared| {
            let options = limits.join(k, shared);
            let found = clusters_of(&store, &options, method, judged.as_ref())?;
            let mut groups = LargestGroups::within(LEN_MAX).at_most(most);
            let width = store.width();
            found.for_each(|cluster| {
                groups.take_cluster(&row_of(cluster, width));
                Ok::<(), Failure>(())
            })?;
            let limit = format!("within {}", bits(k));
            let about =
                About { title: &title, limit: &limit, method: method.shape(), ..About::default() };
            written(groups, &about, texts, &links, &limits.given(shared), shared)
        })
    }

    /// An HTML page of pairs for people to judge with the keyboard in a browser. The page saves a
    /// file of labels, which `clean` and `clusters` accept as `pairs` and the command `fpstore
    /// evaluate` reads.
    ///
    /// Parameters
    /// ----------
    #[doc = parameters!(k_store)]
    /// count : int, default 30
    ///     Maximum number of pairs at each distance.
    /// texts, link, image, images
    ///     The same as for `clusters_page`.
    #[doc = parameters!(threads memory temp_dir progress)]
    ///
    /// Returns
    /// -------
    /// fpstore.types.Page
    ///
    /// Examples
    /// --------
    /// >>> store.pairs_page(count=5)
    /// <fpstore.Page of ... bytes>
    #[pyo3(signature = (
        k=None, count=30, *, texts=None, link=None, image=None, images=None, threads=None,
        memory=None, temp_dir=None, progress=None
    ))]
    fn pairs_page(
        &self,
        py: Python<'_>,
        k: Option<Whole>,
        #[pyo3(from_py_with = wide)] count: i128,
        texts: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = text_or_none)] link: Option<&str>,
        #[pyo3(from_py_with = text_or_none)] image: Option<&str>,
        images: Option<&Bound<'_, PyAny>>,
        threads: Option<Whole>,
        memory: Option<Bytes>,
        #[pyo3(from_py_with = path_or_none)] temp_dir: Option<PathBuf>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Page> {
        let store = self.one()?;
        let k = k.map_or(Ok(JUDGED_DISTANCE), |k| distance_of(py, k))?;
        let most = checked(py, &fpstore::options::COUNT, count)? as usize;
        if store.info().id_count() == 0 {
            return Err(input_error(py, "the store has no ids, but labels need ids"));
        }
        let links = Links::of(py, link, image, images)?;
        let limits = Limits::new(py, threads, memory, temp_dir)?;
        let reporter = Reporter::new(progress)?.phases(3);
        let texts = texts.map(|texts| Texts::of(texts, &limits, &store)).transpose()?;
        let title = self.title();
        run(py, &reporter, move |shared| {
            let pairs = sampled_pairs(&store, &limits.join(k, shared), most)?;
            let mut groups = LargestGroups::within(LEN_MAX);
            groups.take_pairs(&pairs);
            let limit = format!("0 to {}", bits(k));
            let about = About { title: &title, limit: &limit, judged: true, ..About::default() };
            written(groups, &about, texts, &links, &limits.given(shared), shared)
        })
    }
}
