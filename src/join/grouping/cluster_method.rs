//! The methods that form clusters.

fpstore_base::choices! {
    /// The method that forms clusters.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum ClusterMethod {
        /// Connected components: each member is near some other member. Two members may be far
        /// apart, connected by a chain of near members.
        #[default]
        Components = "components": "Documents connected by a chain of near-duplicates",
        /// Stars: each member is near the representative. In each component, the document with most
        /// near documents becomes the first representative and takes all documents near it; then
        /// the next of the remaining documents, and so on.
        ///
        /// # Source
        ///
        /// Aslam, Pelekhov and Rus, "The Star Clustering Algorithm for Static and Dynamic
        /// Information Organization", JGAA 8 (2004): the off-line algorithm.
        Star = "star": "Every member near its representative, the most connected first",
        /// Leaders: in the order of smallest ids, each document that is near no leader becomes a
        /// leader. Every other document belongs to the first leader that it is near. The leaders
        /// are the documents that remain if each document near an earlier remaining one is dropped.
        Leader = "leader": "Every member near its representative, the smallest id first",
    }
}

impl ClusterMethod {
    /// A short description of a cluster, for a page.
    pub fn shape(self) -> &'static str {
        match self {
            ClusterMethod::Components => "chains of near documents",
            ClusterMethod::Star => "stars around a representative",
            ClusterMethod::Leader => "led by the first document",
        }
    }
}
