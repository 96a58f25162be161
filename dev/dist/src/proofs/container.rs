//! Of the image: read by a program of others, run as its user.

use anyhow::{Context, bail};
use serde_json::Value;

use xtask::cargo;

use super::super::{VERSION, image, tree};
use super::{Ground, said, script};

/// Runs the program of an unpacked image as its user: `ROOT USER WORK`.
const RUN: &str = include_str!("../../scripts/image.sh");

pub(super) fn image(ground: &Ground) -> anyhow::Result<()> {
    let archive = format!("oci-archive:{}", ground.image.display());
    let shown = said(cargo::command("skopeo inspect").arg(&archive))?;
    let shown: Value = serde_json::from_str(&shown).context("skopeo prints no JSON")?;
    let version = &shown["Labels"]["org.opencontainers.image.version"];
    if version != VERSION || shown["Os"] != "linux" {
        bail!("skopeo shows another image: {shown}");
    }
    let config = said(cargo::command("skopeo inspect --config").arg(&archive))?;
    let config: Value = serde_json::from_str(&config).context("skopeo prints no JSON")?;
    if config["config"]["User"] != image::USER {
        bail!("it does not run as {}: {config}", image::USER);
    }
    said(
        cargo::command("skopeo inspect").arg(format!("docker-archive:{}", ground.image.display())),
    )
    .context("as an archive of Docker")?;
    // A copy holds each part against its hash.
    let folder = tree::cleared(&ground.work.join("image"))?;
    let copied = format!("dir:{}", folder.display());
    said(cargo::command("skopeo copy --all --insecure-policy --quiet").arg(&archive).arg(&copied))?;
    let layer = shown["Layers"][0].as_str().and_then(|digest| digest.strip_prefix("sha256:"));
    let layer = folder.join(layer.context("it has no layer")?);
    let room = tree::cleared(&ground.work.join("room"))?;
    let printed = said(script(RUN)?.arg(layer).arg(image::USER).arg(room))?;
    if !printed.contains(VERSION) {
        bail!("the program says: {printed}");
    }
    Ok(())
}
