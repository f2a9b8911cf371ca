//! The methods that form clusters.

fpstore_base::choices! {
    /// The method that forms clusters.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum ClusterMethod {
        /// Connected components: each member is a near-duplicate of some other member. Two members
        /// may have a large distance, connected by a chain of near-duplicates.
        #[default]
        Components = "components": "Documents connected by a chain of near-duplicates",
        /// Stars: each member is a near-duplicate of the representative. In each component,
        /// documents are considered in the order of their number of near-duplicates, the most
        /// first. A document that is in no cluster yet becomes the representative of a new cluster,
        /// of which all its near-duplicates outside of clusters become members.
        ///
        /// # Source
        ///
        /// Aslam, Pelekhov and Rus, "The Star Clustering Algorithm for Static and Dynamic
        /// Information Organization", JGAA 8 (2004): the off-line algorithm.
        Star = "star": "Members are near their representative, a document with many neighbours",
        /// Leaders: in the order of smallest ids, each document that is no near-duplicate of a
        /// leader becomes a leader. Every other document belongs to the first leader of which it is
        /// a near-duplicate. Deduplication keeps exactly the leaders.
        Leader = "leader": "Members are near their representative, the first document in order",
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
