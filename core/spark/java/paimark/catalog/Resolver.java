package paimark.catalog;

import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;

/** Finds the tables of the catalog. Each method returns null if there is no such table. */
public interface Resolver {
    /** The table at a version; at its latest one if {@code version} is null. */
    Table table(Identifier name, String version);

    /** The table at a time, in microseconds since 1970. */
    Table tableAt(Identifier name, long micros);

    /** How many tables it holds at present. */
    int held();
}
