/** State stores of Kafka Streams in a Fovea database. */
module io.fovea.streams {
  requires transitive io.fovea.engine;
  requires transitive kafka.streams;
  requires transitive kafka.clients;
  requires org.slf4j;
  requires static io.fovea.micrometer;
  requires static micrometer.core;
  requires static org.jspecify;

  exports io.fovea.streams;
}
