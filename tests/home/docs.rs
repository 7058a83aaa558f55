//! The reference page is made from the tables.

use crystal::home::settings::page as settings;
use crystal::provider::catalog::page as providers;

#[test]
fn the_configuration_page_is_current() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    let page = format!("{}{}", settings::reference(), providers::reference().unwrap());
    if std::fs::read_to_string(&path).ok().as_deref() != Some(&page) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, page).unwrap();
        panic!("docs/configuration.md was stale and has been written anew; commit it");
    }
}
