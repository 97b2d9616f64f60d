package io.fovea.tpcc.plot;

import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;

/** Parses an SVG. */
public final class Svg {
  private final Document document;

  /** Parses a document; fails if it is not well-formed. */
  public Svg(String text) {
    try {
      DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
      factory.setNamespaceAware(true);
      document = factory.newDocumentBuilder().parse(new InputSource(new StringReader(text)));
    } catch (Exception e) {
      throw new AssertionError("not well-formed: " + e.getMessage(), e);
    }
  }

  public Element root() {
    return document.getDocumentElement();
  }

  public List<Element> elements(String name) {
    NodeList nodes = document.getElementsByTagNameNS("http://www.w3.org/2000/svg", name);
    List<Element> elements = new ArrayList<>();
    for (int i = 0; i < nodes.getLength(); i++) {
      elements.add((Element) nodes.item(i));
    }
    return elements;
  }

  /** Returns all text in the drawing. */
  public List<String> texts() {
    return elements("text").stream().map(Element::getTextContent).toList();
  }
}
