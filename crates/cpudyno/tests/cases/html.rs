//! The data sheet as a page of HTML, in a browser.
//!
//! Where Chromium is not installed, the cases are shown as ignored, with the reason;
//! `CPUDYNO_NEEDS_CHROMIUM=1`, which the project's check sets, makes them fail there.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Arc, Mutex};

use crate::common::{cpudyno, finish, program};
use libtest_mimic::{Failed, Trial};
use model::page::{Block, Lines, Mark, Page, Scale, Slope, SlopeEnd, Slopes};

/// Columns and rows of a desktop and of a phone.
const SIZES: [(u32, u32); 2] = [(1280, 900), (390, 844)];

const TITLE: &str = "SIMULATED data sheet: machine sim:4c, nothing was measured";

pub(crate) fn trials() -> Vec<Trial> {
    let missing = missing();
    let trial = |name: &str, case: fn() -> Result<(), Failed>| {
        let name = match &missing {
            Some(why) => format!("{name}: {why}"),
            None => name.to_owned(),
        };
        Trial::test(format!("html::{name}"), case).with_ignored_flag(missing.is_some())
    };
    vec![
        trial("a_browser_shows_the_page_and_fetches_nothing", shows_and_fetches_nothing),
        trial("the_page_is_drawn_in_every_size", is_drawn_in_every_size),
        trial("nothing_is_wider_than_the_page_and_bars_stand_by_their_names", is_laid_out),
        trial("what_is_written_in_pictures_can_be_read", can_be_read),
    ]
}

/// Why nothing can be shown here.
fn missing() -> Option<String> {
    let is_needed = std::env::var_os("CPUDYNO_NEEDS_CHROMIUM").is_some();
    let answers = program("chromium").arg("--version").output().is_ok();
    (!is_needed && !answers).then(|| "`chromium` is not installed".to_owned())
}

/// The page of a short simulated sheet, and its record.
fn page(folder: &Path) -> (PathBuf, PathBuf) {
    let (html, json) = (folder.join("sheet.html"), folder.join("sheet.json"));
    let files = ["--html", html.to_str().unwrap(), "--json", json.to_str().unwrap()];
    let args = ["sheet", "--machine", "sim:4c", "--budget", "5s"];
    finish(cpudyno(&[&args[..], &files].concat())).success();
    (html, json)
}

fn browse(args: &[&str]) -> Result<Output, Failed> {
    let home = tempfile::tempdir()?;
    let mut chromium = program("chromium");
    chromium.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
    ]);
    chromium.args(["--no-first-run", "--enable-logging=stderr", "--hide-scrollbars"]);
    chromium.arg(format!("--user-data-dir={}", home.path().display())).args(args);
    let done = chromium.output().map_err(|error| format!("`chromium` cannot start: {error}"))?;
    if done.status.success() {
        return Ok(done);
    }
    Err(format!("`chromium` failed: {}", String::from_utf8_lossy(&done.stderr)).into())
}

/// What a server is asked for while it answers everything with the page.
fn serve(html: Vec<u8>) -> std::io::Result<(String, Arc<Mutex<Vec<String>>>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = format!("http://{}/", listener.local_addr()?);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A browser may open a connection and never ask.
            let seen = Arc::clone(&seen);
            let html = html.clone();
            std::thread::spawn(move || answer(stream, &html, &seen));
        }
    });
    Ok((address, asked))
}

fn answer(mut stream: TcpStream, html: &[u8], asked: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut request = [0; 4096];
    let length = stream.read(&mut request)?;
    let request = String::from_utf8_lossy(&request[..length]);
    if let Some(line) = request.lines().next() {
        asked.lock().unwrap().push(line.to_owned());
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close";
        write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n", html.len())?;
        stream.write_all(html)?;
    }
    Ok(())
}

fn shows_and_fetches_nothing() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (html, json) = page(folder.path());
    let (address, asked) = serve(std::fs::read(&html)?)?;
    // Whatever is asked for elsewhere comes to the same server.
    let proxy = format!("--proxy-server={}", address.trim_end_matches('/'));
    let done = browse(&["--dump-dom", &proxy, "--proxy-bypass-list=<-loopback>", &address])?;
    let dom = String::from_utf8_lossy(&done.stdout);
    // What the browser made of it holds what was written, to the last byte.
    assert!(dom.contains(TITLE), "{}", &dom[..dom.len().min(2000)]);
    let attached = views::html::attached(&dom).ok_or("the record is not on the page")?;
    let written = std::fs::read_to_string(json)?;
    assert!(model::record::read(&attached)? == model::record::read(&written)?);
    let log = String::from_utf8_lossy(&done.stderr);
    let said: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(said.is_empty(), "{said:?}");
    // A browser has questions of its own, to its maker.
    let own = |line: &&String| ["google", "gvt1.com"].iter().any(|maker| line.contains(maker));
    let asked = asked.lock().unwrap();
    let asked: Vec<&String> = asked.iter().filter(|line| !own(line)).collect();
    assert!(asked.len() == 1 && asked[0].starts_with(&format!("GET {address}")), "{asked:?}");
    Ok(())
}

/// A browser draws it on a desktop, on a phone and on paper.
fn is_drawn_in_every_size() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (html, _) = page(folder.path());
    for (width, height) in SIZES {
        let picture = folder.path().join(format!("{width}.png"));
        let (size, file) = (
            format!("--window-size={width},{height}"),
            format!("--screenshot={}", picture.display()),
        );
        browse(&[&size, &file, &format!("file://{}", html.display())])?;
        let bytes = std::fs::read(&picture)?;
        // A page on which nothing was drawn is a few hundred bytes.
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000, "{width}: {}", bytes.len());
    }
    let paper = folder.path().join("sheet.pdf");
    let file = format!("--print-to-pdf={}", paper.display());
    browse(&[&file, &format!("file://{}", html.display())])?;
    assert!(std::fs::read(&paper)?.starts_with(b"%PDF"));
    Ok(())
}

/// Text as an attribute of HTML.
fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;")
}

/// What a function of `page` and its `root` answers about a page in a frame of that width.
fn asked(page: &str, width: u32, function: &str) -> Result<serde_json::Value, Failed> {
    let folder = tempfile::tempdir()?;
    let frame = format!("<iframe style=\"width:{width}px;height:800px;border:0\"></iframe>");
    let held = format!("<template data-page=\"{}\"></template>", attribute(page));
    let ask = format!("const ask = (page, root) => {{{function}}};");
    let load = r#"
        const frame = document.querySelector("iframe");
        frame.onload = () => {
            const page = frame.contentDocument;
            document.body.dataset.result = JSON.stringify(ask(page, page.documentElement));
        };
        frame.srcdoc = document.querySelector("template").dataset.page;"#;
    let file = folder.path().join("frame.html");
    let script = format!("<script>{ask}{load}</script>");
    std::fs::write(&file, format!("<!doctype html><body>{frame}{held}{script}"))?;
    let wait = "--virtual-time-budget=20000";
    let done = browse(&["--dump-dom", wait, &format!("file://{}", file.display())])?;
    let dom = String::from_utf8_lossy(&done.stdout);
    let (_, said) = dom.split_once("data-result=\"").ok_or("the frame did not load")?;
    let said = said.split('"').next().unwrap_or_default().replace("&quot;", "\"");
    Ok(serde_json::from_str(&said)?)
}

/// A plot whose names of places are close to each other, and the long names of a comparison.
fn of_pictures() -> Page {
    let mark = |at: f64, text: &str| Mark { at, text: text.to_owned() };
    let marks = vec![
        mark(1.0, "halt of 10.00 us at 1 us"),
        mark(20.0, "the stream ends at 201 us"),
        mark(148.08, "knee of read only"),
        mark(203.85, "knee of 1 read, 1 write"),
        mark(235.27, "knee of 2 reads, 1 write"),
        mark(300.0, "the end"),
    ];
    let flat = (0..=300).map(|at| (f64::from(at), 3466.0)).collect();
    let lines = Lines {
        caption: "clock by time (higher is better)".to_owned(),
        x: "us".to_owned(),
        y: "MHz".to_owned(),
        x_scale: Scale::Linear,
        y_scale: Scale::Linear,
        reach: None,
        lines: vec![("own".to_owned(), flat)],
        marks,
    };
    let end = |ratio: f64| Some(SlopeEnd { ratio, number: "1 us".to_owned() });
    let slope = |index: u32| Slope {
        name: format!("wake, time per signal, futex, same-cpu, {index} core, 1000 us"),
        ends: vec![end(1.0), end(1.0 + f64::from(index) / 4.0)],
    };
    let slopes = Slopes {
        caption: "what became of it".to_owned(),
        columns: vec!["A".to_owned(), "B".to_owned()],
        lines: (0..12).map(slope).collect(),
    };
    Page { blocks: vec![Block::Lines(lines), Block::Slopes(slopes)] }
}

/// What is written in a picture is within it, on nothing else that is written and in no line's way, and no smaller
/// than print on a phone.
fn can_be_read() -> Result<(), Failed> {
    const SCRIPT: &str = r#"
            const wrong = [], texts = [...page.querySelectorAll("svg text")];
            const box = (of) => of.getBoundingClientRect();
            const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
            let least = 100;
            for (const text of texts) {
                const svg = text.closest("svg"), mine = box(text), whole = box(svg);
                const say = (what) => wrong.push(text.textContent + " " + what);
                if (mine.left < whole.left || mine.right > whole.right) say("leaves its picture");
                const others = texts.filter((other) => other !== text && other.closest("svg") === svg);
                for (const other of others) if (meet(mine, box(other))) say("on " + other.textContent);
                const lines = [...svg.querySelectorAll("polyline, .named")];
                const inner = { left: mine.left + 1, right: mine.right - 1, top: mine.top, bottom: mine.bottom };
                if (lines.some((line) => !text.closest(".slopes") && meet(inner, box(line)))) say("is struck through");
                const scale = whole.width / svg.viewBox.baseVal.width;
                least = Math.min(least, scale * parseFloat(getComputedStyle(text).fontSize));
            }
            return { texts: texts.length, wrong, least };"#;
    let page = views::html::render(of_pictures, None)?;
    assert!(page.contains("same-cpu, 11 core, 1000 us</text>"), "names are whole");
    for (width, _) in SIZES {
        let said = asked(&page, width, SCRIPT)?;
        assert!(said["texts"].as_u64() > Some(20), "{width}: {said}");
        assert_eq!(said["wrong"], serde_json::json!([]), "{width}: {said}");
        assert!(said["least"].as_f64() > Some(8.9), "{width}: {said}");
    }
    Ok(())
}

/// In a frame as narrow as a phone nothing sticks out, and each value of a bar stands on the line of its name.
fn is_laid_out() -> Result<(), Failed> {
    const SCRIPT: &str = r#"
            const names = [...page.querySelectorAll(".bars .name")];
            const values = [...page.querySelectorAll(".bars .value")];
            const middle = (of) => { const at = of.getBoundingClientRect(); return at.top + at.height / 2; };
            const apart = names.filter((name, at) => {
                const next = names[at + 1], mine = Math.abs(middle(name) - middle(values[at]));
                return next && Math.abs(middle(next) - middle(values[at])) <= mine;
            });
            const out = [...page.querySelectorAll("main *")].filter((part) =>
                !part.closest(".scroll") && part.getBoundingClientRect().right > root.clientWidth + 1);
            return {
                width: root.clientWidth, needs: root.scrollWidth, bars: names.length,
                apart: apart.map((name) => name.textContent),
                out: out.map((part) => part.tagName + "." + part.className).slice(0, 5),
            };"#;
    let folder = tempfile::tempdir()?;
    let (html, _) = page(folder.path());
    let page = std::fs::read_to_string(&html)?;
    for (width, _) in SIZES {
        let said = asked(&page, width, SCRIPT)?;
        assert!(said["bars"].as_u64() > Some(3), "{width}: {said}");
        assert!(said["needs"].as_u64() <= said["width"].as_u64(), "{width}: {said}");
        assert_eq!(said["apart"], serde_json::json!([]), "{width}: {said}");
    }
    Ok(())
}
