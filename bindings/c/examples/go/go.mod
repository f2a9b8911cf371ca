module fpstore.example/search

go 1.19
