/** A transactional storage engine. */
module io.fovea.engine {
  requires io.fovea.bindings;
  requires static info.picocli;
  requires static java.logging;
  requires static transitive micrometer.core;
  requires static transitive org.jspecify;

  exports io.fovea;
  exports io.fovea.error;
  exports io.fovea.metrics;

  opens io.fovea.tool to
      info.picocli;
}
