//! The name that was probably meant.

/// The known name that is nearest to `name`, when one is near enough to be a slip.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let fold = |text: &str| text.to_lowercase().replace(['-', '_', '.'], "");
    let name = fold(name);
    known
        .into_iter()
        .map(|candidate| (strsim::normalized_damerau_levenshtein(&name, &fold(candidate)), candidate))
        .filter(|(likeness, _)| *likeness >= 0.5)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_noise_finds_nothing() {
        let known = ["approval", "bashTimeoutSeconds", "model"];
        assert_eq!(nearest("aproval", known), Some("approval"));
        assert_eq!(nearest("bash_timeout_seconds", known), Some("bashTimeoutSeconds"));
        assert_eq!(nearest("zzz", known), None);
    }
}
