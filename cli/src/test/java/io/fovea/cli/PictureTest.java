package io.fovea.cli;

import static io.fovea.cli.Fixture.SMALL;
import static io.fovea.cli.Fixture.make;
import static io.fovea.cli.Fixture.run;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.imageio.ImageIO;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.w3c.dom.Document;
import org.w3c.dom.Element;

class PictureTest {
  private static final int SIDE = 4;

  @TempDir Path dir;

  private static long pages(Path file) {
    Matcher m = Pattern.compile("pages +(\\d+)").matcher(run(0, "stat", file).out());
    assertTrue(m.find());
    return Long.parseLong(m.group(1));
  }

  /** The number of cells that the rectangles of a picture cover. */
  private static long cells(Path svg) throws Exception {
    Document d =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(new ByteArrayInputStream(Files.readAllBytes(svg)));
    long cells = 0;
    for (int i = 0; i < d.getElementsByTagName("rect").getLength(); i++) {
      Element rect = (Element) d.getElementsByTagName("rect").item(i);
      if (rect.getAttribute("height").equals("" + SIDE)) {
        cells += Integer.parseInt(rect.getAttribute("width")) / SIDE;
      }
    }
    return cells;
  }

  @Tag("slow")
  @ParameterizedTest
  @EnumSource(PictureCommand.By.class)
  void onePagePerCell(PictureCommand.By by) throws Exception {
    Path file = make(dir, SMALL);
    byte[] before = Files.readAllBytes(file);
    Path svg = dir.resolve("map.svg");
    Path png = dir.resolve("map.PNG");
    List<String> said = run(0, "picture", file, "-o", svg, "--by", by).out().lines().toList();
    long told = 0;
    for (String line : said.subList(0, said.size() - 1)) {
      told += Long.parseLong(line.replaceAll(".*: (\\d+) pages", "$1"));
      String colour = line.substring(0, 7);
      assertTrue(Files.readString(svg).contains("fill=\"" + colour), line);
    }
    long pages = Files.size(file) / 4096;
    assertEquals(pages, told);
    assertEquals(pages, cells(svg));
    assertTrue(pages >= pages(file));

    String json = run(0, "picture", file, "-o", png, "--by", by, "--json").out();
    int columns = Integer.parseInt(json.replaceAll("(?s).*\"columns\": (\\d+).*", "$1"));
    var image = ImageIO.read(png.toFile());
    assertEquals(columns * SIDE, image.getWidth());
    assertEquals(0, image.getRGB(0, 0) & 0xFFFFFF, "the superblock");
    assertArrayEquals(before, Files.readAllBytes(file));
  }

  @Test
  void labelsTrees() {
    Path file = make(dir, SMALL);
    String said = run(0, "picture", file, "-o", dir.resolve("a.svg")).out();
    for (String what :
        new String[] {
          "table t, leaf",
          "table t, inner node",
          "index i of t, leaf",
          "table blobs, part of a long value",
          "catalog, leaf",
          "superblock: 2 pages",
          "free"
        }) {
      assertTrue(said.contains("  " + what), said);
    }
  }

  @Test
  void showsDamage() throws IOException {
    Path file = make(dir, SMALL);
    byte[] all = Files.readAllBytes(file);
    all[5 * 4096 + 100] ^= 1;
    Files.write(file, all);
    String said = run(0, "picture", file, "--by", "FILL", "-o", dir.resolve("a.svg")).out();
    assertTrue(said.contains("#d00000  damaged: 1 pages"), said);
  }

  @Test
  void manyPagesShareACell() throws IOException {
    PageMap map = new PageMap(1001, 100);
    assertEquals(11, map.pagesPerCell());
    PageMap.Colour some = new PageMap.Colour(0x010203, "some");
    PageMap.Colour most = new PageMap.Colour(0x040506, "most");
    for (int i = 0; i < 1001; i++) {
      map.add(i % 11 < 4 ? some : most);
    }
    var image = ImageIO.read(new ByteArrayInputStream(map.png()));
    assertEquals(map.columns() * SIDE, image.getWidth());
    assertEquals(0x040506, image.getRGB(0, 0) & 0xFFFFFF);
  }

  @Test
  void mistakes() throws IOException {
    Path file = make(dir, SMALL);
    run(2, "picture", file);
    assertTrue(run(2, "picture", file, "-o", dir.resolve("a.gif")).err().contains("*.svg or"));
    Path there = Files.writeString(dir.resolve("there.svg"), "mine");
    run(2, "picture", file, "-o", there);
    assertEquals("mine", Files.readString(there));
    run(2, "picture", dir.resolve("no file"), "-o", dir.resolve("b.svg"));
    assertFalse(Files.exists(dir.resolve("b.svg")));
  }
}
