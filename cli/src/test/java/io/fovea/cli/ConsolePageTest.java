package io.fovea.cli;

import static io.fovea.cli.ConsoleFixture.HOSTILE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.fovea.Database;
import io.fovea.Options;
import io.fovea.cli.ConsoleFixture.Served;
import io.fovea.schema.TableSpec;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The page of a console in headless Chromium: each view, and that it runs no code of a record. */
@Tag("slow")
@Timeout(value = 15, unit = TimeUnit.MINUTES)
class ConsolePageTest {
  /** A chart has a line, from two samples of the same process. */
  private static final String LINES =
      "[...document.querySelectorAll('.chart svg path')].some(p =>"
          + " p.getAttribute('d').includes('L'))";

  @TempDir Path dir;
  @TempDir Path profile;

  @BeforeEach
  void requireBrowser() {
    assumeTrue(
        Browser.find("chromium") != null && Browser.find("chromedriver") != null,
        "chromium and chromedriver are not installed: the page is not tested");
  }

  private static void view(Browser b, String hash, String shows) throws Exception {
    b.eval("void (location.hash = arguments[0])", hash);
    b.until("document.querySelector('main').innerText.includes(arguments[0])", shows);
  }

  /** No record ran as code, the policy blocked nothing, and nothing failed. */
  private static void requireHarmless(Browser b) throws Exception {
    assertEquals("undefined", b.eval("typeof window.hacked").getAsString());
    assertEquals(0, b.eval("document.querySelectorAll('main script, main b i').length").getAsInt());
    assertEquals(List.of(), b.messages());
    assertEquals(
        b.eval("location.origin").getAsString(),
        b.eval(
                "[...new Set(performance.getEntriesByType('resource').map(e => new URL(e.name).origin))].join()")
            .getAsString());
  }

  @Test
  void everyView() throws Exception {
    Path file = ConsoleFixture.make(dir);
    try (Served served = new Served(file, "--write");
        Browser b = new Browser(profile)) {
      b.open(served.url());
      b.until("document.querySelector('main').innerText.includes('Page size')");
      assertTrue(b.eval("location.search === '' && location.hash === ''").getAsBoolean());
      assertEquals("", b.eval("document.cookie").getAsString());
      assertTrue(b.text().contains("read and write"), b.text());
      assertTrue(b.text().contains("<img src=x onerror=window.hacked=2>"), b.text());
      assertTrue(b.text().contains("10,001"), b.text());

      view(b, "#/table/stock", "Records 1 to 50");
      b.click("button[name=next]");
      b.until("document.querySelector('main').innerText.includes('Records 51 to 100')");
      assertTrue(b.text().contains("item 99"), b.text());
      b.click("button[name=previous]");
      b.until("document.querySelector('main').innerText.includes('Records 1 to 50')");
      b.type("input[name=part]", "99");
      b.click("form.bar button.primary");
      b.until("document.querySelector('main').innerText.includes(arguments[0])", HOSTILE);
      assertTrue(b.text().contains("the last"), b.text());

      view(b, "#/table/stock/schema", "by_quantity");
      picture(b, "schema");
      view(b, "#/table/things", HOSTILE);
      picture(b, "records");
      view(b, "#/table/files", "00ff01");
      view(b, "#/record/files/long", "300,000 bytes, shown in part");
      view(b, "#/record/stock/99/1", HOSTILE);
      requireHarmless(b);
      picture(b, "record");

      b.click("button[name=edit]");
      b.type("textarea[name=quantity]", "4711");
      b.click("button[name=save]");
      b.until("document.querySelector('main').innerText.includes('4711')");
      b.click("button[name=edit]");
      b.type("textarea[name=quantity]", "many");
      b.click("button[name=save]");
      b.until("document.querySelector('[role=alert]').innerText.includes('many')");
      view(b, "#/new/stock", "New record");
      b.type("input[name=shop]", "100");
      b.type("input[name=item]", "1");
      b.type("textarea[name=name]", "new item");
      b.click("button[name=save]");
      b.until("document.querySelector('h1').innerText === 'shop 100, item 1'");
      b.eval("void (window.confirm = () => true)");
      b.click("button[name=delete]");
      b.until("document.querySelector('#status').innerText.includes('deleted')");

      view(b, "#/activity", "Cache hit rate");
      b.until("document.querySelectorAll('.chart svg path').length > 5");
      picture(b, "activity-own");
      view(b, "#/maintenance", "Back up");
      b.click("button[name=verify]");
      b.until("document.querySelector('#verify .result').innerText.includes('Nothing is wrong')");
      b.type("input[name=backup-name]", "copy");
      b.click("button[name=backup]");
      b.until("document.querySelector('#backup .result').innerText.includes('complete')");
      assertTrue(Files.exists(dir.resolve("copy").resolve("shop.fovea")));
      view(b, "#/pages", "Read the pages");
      b.click("button[name=draw]");
      b.until("document.querySelector('canvas.map')");
      b.until("document.querySelector('main').innerText.includes('stock.by_quantity')");
      picture(b, "pages");
      b.type("input[name=page]", "0");
      b.click("form.bar button");
      b.until("document.querySelector('pre').innerText.includes('superblock')");
      view(b, "#/maintenance", "The backup is complete");
      picture(b, "maintenance");
      view(b, "#/table/absent", "There is no table absent");
      assertTrue(
          b.messages().stream().allMatch(m -> m.contains("400 (Bad Request)")),
          b.messages()::toString);
    }
  }

  @Test
  void withoutWriteThereIsNothingToChange() throws Exception {
    Path file = ConsoleFixture.make(dir);
    try (Served served = new Served(file);
        Browser b = new Browser(profile)) {
      b.dark(true);
      b.open(served.base());
      b.until(
          "document.querySelector('main').innerText.includes('open the URL that fovea printed')");
      b.messages(); // the status 401
      b.open(served.url());
      b.until("document.querySelector('main').innerText.includes('Page size')");
      assertTrue(b.text().contains("read-only"), b.text());
      assertEquals(
          "rgb(21, 24, 29)",
          b.eval("getComputedStyle(document.body).backgroundColor").getAsString());
      view(b, "#/record/stock/99/1", HOSTILE);
      assertEquals(0, b.eval("document.querySelectorAll('main button').length").getAsInt());
      view(b, "#/table/stock", "Records 1 to 50");
      assertEquals(0, b.eval("document.querySelectorAll('button[name=new]').length").getAsInt());
      requireHarmless(b);
    }
  }

  /** Shows it to whoever looks: layout has no test. */
  private static void picture(Browser b, String name) throws Exception {
    Path pictures = Files.createDirectories(Path.of("target", "console-pictures"));
    Files.write(pictures.resolve(name + ".png"), b.screenshot());
  }

  /** A reply that arrives after that of a later search is not shown. */
  @Test
  void repliesInAnotherOrder() throws Exception {
    try (Served served = new Served(ConsoleFixture.make(dir));
        Browser b = new Browser(profile)) {
      b.open(served.url());
      b.until("document.querySelector('main').innerText.includes('Page size')");
      view(b, "#/table/stock", "Records 1 to 50");
      b.eval(
          "void ((real) => { window.fetch = (url, how) => url.includes('part=3') ? new Promise(done"
              + " => { window.release = async () => { const r = await real(url, how); const v ="
              + " await r.json(); done({ ok: true, json: async () => { setTimeout(() => {"
              + " window.released = true; }, 0); return v; } }); }; }) : real(url, how); })(fetch)");
      b.type("input[name=part]", "3");
      b.click("form.bar button.primary");
      b.until("window.release");
      b.type("input[name=part]", "99");
      b.click("form.bar button.primary");
      b.until("document.querySelector('main').innerText.includes(arguments[0])", HOSTILE);
      b.eval("void window.release()");
      b.until("window.released");
      assertTrue(b.text().contains(HOSTILE), b.text());
      assertTrue(b.text().contains("Records 1 to 1, the last"), b.text());
      requireHarmless(b);
    }
  }

  @Test
  void addressesAndTabs() throws Exception {
    try (Served served = new Served(ConsoleFixture.make(dir));
        Browser b = new Browser(profile)) {
      b.open(served.url());
      b.until("document.querySelector('main').innerText.includes('Page size')");
      view(b, "#/table/%E0%A4%A", "There is no table %E0%A4%A");
      view(b, "#/overview", "Page size");
      // A link that is opened in another tab has the token there.
      b.eval(
          "void document.querySelector('nav a[href=\"#/activity\"]').dispatchEvent(new MouseEvent("
              + "'click', {ctrlKey: true, bubbles: true, cancelable: true}))");
      b.otherTab();
      b.until("document.querySelector('main').innerText.includes('Cache hit rate')");
      // A value is saved by a request that has the token.
      view(b, "#/record/files/long", "300,000 bytes, shown in part");
      b.eval(
          "void ((real) => { URL.createObjectURL = (blob) => { window.saved = blob.size; return"
              + " real.call(URL, blob); }; })(URL.createObjectURL)");
      b.click("button[name=download]");
      b.until("window.saved === 300000");
      requireHarmless(b);
    }
  }

  @Test
  void activityOfAnApplication() throws Exception {
    Path file = dir.resolve("busy.fovea");
    Process busy = TopTest.start(file, true);
    try (Served served = new Served(file, "--copy");
        Browser b = new Browser(profile)) {
      b.open(served.url());
      b.until("document.querySelector('main').innerText.includes('Page size')");
      picture(b, "overview");
      view(b, "#/activity", "Show process");
      b.click("button[name=attach]");
      b.until("document.querySelectorAll('.chart svg path').length > 8");
      b.until("document.querySelector('main').innerText.includes('Figures of process')");
      b.until(LINES); // those of the process
      picture(b, "activity");
      view(b, "#/transactions", "Slow and retried transactions");
      b.until(LINES);
      b.until("document.querySelector('table td.num')");
      assertTrue(b.text().contains("Aborted attempts by cause"), b.text());
      assertTrue(b.text().contains("validation 1"), b.text()); // of a body
      assertTrue(b.text().contains("transfer"), b.text());
      picture(b, "transactions");
      b.dark(true);
      picture(b, "transactions-dark");
      requireHarmless(b);
    } finally {
      TopTest.end(busy);
    }
  }

  @Test
  void newCopy() throws Exception {
    Path file = dir.resolve("db");
    try (Database db = Database.open(file, Options.defaults().bufferBytes(8 << 20))) {
      var files = db.table(TableSpec.bytes("files", 20)).bytes();
      try (Served served = new Served(file, "--copy");
          Browser b = new Browser(profile)) {
        b.open(served.url());
        b.until("document.querySelector('main').innerText.includes('Page size')");
        view(b, "#/table/files", "No records.");
        db.run(tx -> files.put(tx, ConsoleFixture.bytes("new"), new byte[1]));
        b.click("#refresh");
        b.until("document.querySelector('main').innerText.includes('Records 1 to 1')");
        b.until("document.querySelector('#refresh').innerText === 'New copy'");
        requireHarmless(b);
      }
    }
  }
}
