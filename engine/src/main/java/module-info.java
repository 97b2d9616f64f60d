/** A transactional storage engine. */
module io.fovea.engine {
  requires io.fovea.bindings;
  requires static java.logging;
  requires static java.management;
  requires static org.jspecify;

  exports io.fovea;
  exports io.fovea.config;
  exports io.fovea.error;
  exports io.fovea.schema;
}
